// SPDX-License-Identifier: Apache-2.0
// A Program is what every rank does in one training step: kernels and collectives on in-order
// streams. It is lowered once from (model, plan, schedule) and executed by the simulated and by the
// real executor. Nothing downstream of it knows what a transformer is; nothing upstream of it knows
// whether it will be simulated.
//
// Three tables: *segments* are straight-line op lists, lowered once each; the *slots* of a role are
// the schedule's order of segments, each with its chunk and micro-batch; *tensors* name
// what the ops read and write. Ranks of one role run the same slots; the role and the
// peers of a rank are arithmetic on the mesh.
//
// Program order: the ops of a role are ordered by (slot, position in the slot's segment). This is
// the order in which the host launches them. A wait always names an op that is earlier in program
// order.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/ids.h"
#include "engine/base/peer_map.h"
#include "engine/base/units.h"
#include "engine/program/cause.h"
#include "engine/program/kernel_call.h"
#include "engine/program/memory_tier.h"
#include "engine/program/mesh.h"

namespace orrery {

enum class OpKind : std::uint8_t { kernel, collective, send_recv, copy, host };
inline constexpr std::size_t kNumOpKinds = 5;

enum class CollectiveKind : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
};
std::string_view name(CollectiveKind kind);

// Operands of an op: what it reads, writes and accumulates into, each in the order that
// runtime/kernel_operands.h documents. In-place aliases are write operands of the same tensor that
// is read.
enum class Access : std::uint8_t { read, write, accumulate };
struct Operand {
    TensorId tensor{};
    Access access = Access::read;
    bool transposed = false;  // the op works with the tensor's transpose (gemm: A, B or C; rope)
    std::int8_t part = -1;    // with this one of its column parts only (Tensor); -1: all of them
    std::uint16_t piece = 0;  // with this one of its `pieces` pieces of tokens (sequence_blocks)
    std::uint16_t pieces = 1;
};

// What an op does: an entry of one of the Program's tables, of which its kind says.
class Payload {
public:
    constexpr Payload() = default;
    constexpr Payload(OpKind kind, std::uint32_t number) : kind_(kind), number_(number) {}
    constexpr Payload(KernelId id) : Payload(OpKind::kernel, static_cast<std::uint32_t>(id)) {}
    constexpr Payload(CollectiveId id)
        : Payload(OpKind::collective, static_cast<std::uint32_t>(id)) {}
    constexpr Payload(SendRecvId id) : Payload(OpKind::send_recv, static_cast<std::uint32_t>(id)) {}
    constexpr Payload(CopyId id) : Payload(OpKind::copy, static_cast<std::uint32_t>(id)) {}
    constexpr Payload(HostWorkId id) : Payload(OpKind::host, static_cast<std::uint32_t>(id)) {}

    constexpr OpKind kind() const { return kind_; }
    constexpr std::uint32_t number() const { return number_; }  // in the table of its kind
    // Only of a payload of that kind.
    KernelId kernel() const { return of<KernelId>(OpKind::kernel); }
    CollectiveId collective() const { return of<CollectiveId>(OpKind::collective); }
    SendRecvId send_recv() const { return of<SendRecvId>(OpKind::send_recv); }
    CopyId copy() const { return of<CopyId>(OpKind::copy); }
    HostWorkId host_work() const { return of<HostWorkId>(OpKind::host); }
    auto operator<=>(const Payload&) const = default;

private:
    template <class Id>
    Id of(OpKind kind) const {
        ORRERY_CHECK(kind_ == kind);
        return to_id<Id>(number_);
    }

    OpKind kind_ = OpKind::kernel;
    std::uint32_t number_ = 0;
};

struct Op {
    Payload payload{};
    StreamId stream{};
    Cause cause = Cause::memory_bound_kernels;
    std::uint8_t launches = 1;     // host launches (an unfused op may take several kernels)
    std::uint32_t name = 0;        // index into Program::names
    std::uint32_t first_wait = 0;  // Program::waits: positions of earlier ops in this segment
    std::uint32_t num_waits = 0;
    std::uint32_t first_operand = 0;  // Program::operands
    std::uint32_t num_operands = 0;

    OpKind kind() const { return payload.kind(); }
};

enum class Reduction : std::uint8_t { sum, max };

// What moves the bytes of a transfer: kernels of communication on SMs, the device's copy engines
// (DMA), or threads of the host.
enum class TransferEngine : std::uint8_t { sm, copy_engine, host };
std::string_view name(TransferEngine engine);

// Which engine a collective asks for. Copy engines hold no SM, but they cannot add, and reach only
// devices that load and store each other's memory: between nodes SMs move the bytes all the same.
// `host` is a network's answer (TransferPlan::engine), not a request.
struct Mover {
    TransferEngine engine = TransferEngine::sm;
    // Most SMs to hold (NCCL's maxCTAs); 0: as many as the library takes. Of `sm` only.
    std::uint16_t sm_limit = 0;
    auto operator<=>(const Mover&) const = default;
};

// Rows of tokens that an all_to_all takes to the ranks of their experts, or back: what a library
// for such exchanges is asked for. The network lays them on links
// (network/collectives/dispatcher.h).
struct RowExchange {
    std::uint8_t dispatcher = 0;  // the library, by its place in the network's list from 1 on; 0:
                                  // a plain all_to_all of equal parts
    bool combine = false;         // the same rows, back to their senders
    std::uint16_t choices = 0;    // experts of a token
    std::uint16_t server_limit = 0;  // most nodes that a token's experts are on; 0: any
    std::uint32_t experts = 0;       // of all members
    std::int64_t tokens = 0;         // of a member, the mean
    Bytes row{};                     // of one row
    // The share of all rows that each member's experts take, in millionths, by member; empty: equal
    // shares.
    std::vector<std::uint32_t> shares{};
    bool operator==(const RowExchange&) const = default;
};

struct CollectiveCall {
    CollectiveKind kind = CollectiveKind::all_reduce;
    GroupId group{};
    // Bytes of the whole vector (NCCL's nBytes): all_reduce the buffer, all_gather the gathered
    // result, reduce_scatter the unreduced input, all_to_all what one rank sends in all.
    Bytes bytes;
    Dtype wire = Dtype::bf16;
    // Operations of one (group, communicator) form one total order, the same on all members.
    std::uint16_t communicator = 0;
    Mover mover;
    Reduction reduction = Reduction::sum;  // of all_reduce and reduce_scatter
    RowExchange rows{};                    // of all_to_all
    bool operator==(const CollectiveCall&) const = default;
};

// One message of a send_recv op. The k-th send from a to b on a communicator pairs with the k-th
// receive of b from a. Parts of one op progress together; the op ends with its last part.
struct SendRecvPart {
    bool is_send = true;
    std::uint32_t digit = 0;  // the peer is the rank `delta` further along it (wrapping)
    int delta = 1;
    // Or the peer is in another party: Program::peers; -1: it is not.
    std::int32_t peers = -1;
    Bytes bytes{};
    std::uint16_t communicator = 0;
    // Along these mesh digits (bits) the operand is replicated, and each rank sends its slice of
    // the first dimension only.
    std::uint32_t slice_digits = 0;
    // The piece of `pieces` equal parts of the operand's first dimension: a rank has several peers
    // where the other party cuts the tensor into more parts.
    std::uint16_t piece = 0;
    std::uint16_t pieces = 1;
    bool operator==(const SendRecvPart&) const = default;
};
struct SendRecvCall {
    std::vector<SendRecvPart> parts;
    bool operator==(const SendRecvCall&) const = default;
};

// Bytes of one rank that move from one tier to a neighbouring one: HBM and NVMe have DRAM between
// them. Copy engines (DMA) move them, and no SM does.
struct CopyCall {
    MemoryTier from = MemoryTier::hbm;
    MemoryTier to = MemoryTier::dram;
    Bytes bytes;
    bool operator==(const CopyCall&) const = default;
};

enum class HostWorkKind : std::uint8_t {
    given,    // takes its duration
    restart,  // the host waited for the device and begins to launch again; takes the device's
              // DeviceTimings::restart; the real executor passes over it
};
struct HostWork {
    Time duration;  // of HostWorkKind::given
    HostWorkKind kind = HostWorkKind::given;
};

enum class TensorKind : std::uint8_t {
    weights,
    gradients,
    optimizer,
    activations,
    communication,
    workspace,
};
inline constexpr std::size_t kNumTensorKinds = 6;
std::string_view name(TensorKind kind);

enum class Lifetime : std::uint8_t {
    slot,         // lives inside one slot
    micro_batch,  // from the slot that writes it to the last slot of that (chunk, micro-batch)
    step,         // from its first write to its last use in the step
    persistent,   // lives across steps
};
std::string_view name(Lifetime lifetime);

// How the ranks along a mesh digit hold a tensor: all of it each, a part of one dimension, terms of
// a sum, or a part of its elements in memory order (ZeRO's flat shards: what the other digits leave
// a rank, cut into equal parts of which the last is padded), or, of rows that belong to experts,
// the rows whose experts the rank has (`dim` then is the dimension of the rows).
enum class Placement : std::uint8_t { replicate, shard, partial, flat, routed };
struct DigitPlacement {
    Placement placement = Placement::replicate;
    std::int8_t dim = -1;  // tensor dimension if sharded
    // Coordinate c holds the pieces c and 2 n - 1 - c of 2 n pieces (n: the digit's size), one
    // after the other, instead of the c-th of n: then all have equally much to do under a causal
    // mask.
    bool mirrored = false;
    // The rank holds the part of the rank `shift` further along the digit (wrapping): a block on
    // its way round a ring.
    std::int16_t shift = 0;
    bool operator==(const DigitPlacement&) const = default;
};

struct Tensor {
    std::string name;
    std::string parameter;  // name in the model's state, or empty
    Dtype dtype = Dtype::bf16;
    TensorKind kind = TensorKind::activations;
    Lifetime lifetime = Lifetime::slot;
    std::vector<std::int64_t> global_shape;
    std::vector<DigitPlacement> layout;  // by mesh digit: of what is in memory
    // The layout in which the end of the step takes a weight or gradient that is whole in memory,
    // but of which each rank steps a part (ZeRO 1 and 2). Empty: `layout`.
    std::vector<DigitPlacement> step_layout{};
    // If not empty: the last dimension consists of these parts (heads of Q, K and V; gate and up),
    // and a mesh digit that shards it cuts each of them.
    std::vector<std::int64_t> column_parts;
    // Ops may take an activation in pieces of its tokens, so that moving one piece overlaps working
    // on another: a piece has its part of each of these equal blocks of the rank's sequence. What
    // is gathered in pieces has a block from each rank.
    std::int64_t sequence_blocks = 1;
    Bytes bytes;         // of one rank's part
    MemoryTier tier = MemoryTier::hbm;
    bool input = false;  // written from outside before the step: data, device scalars
    // The random numbers that belong to it (a dropout mask): kernels/random.h's purpose and stream,
    // or -1 for none. With seed, micro-batch and place in the whole tensor they are the key.
    std::int32_t random_purpose = -1;
    std::int32_t random_stream = 0;
};

struct Segment {
    std::string name;  // "chunk 0 forward"
    std::vector<Op> ops;
};

enum class Pass : std::uint8_t {
    receive,
    forward,
    send,
    backward_input,
    backward_weight,
    backward,       // both
    loss_forward,   // a stage's part of a loss that all stages share
    loss_backward,  // its gradients
    gradient_sync,
    parameter_sync,
    optimizer,
};
std::string_view name(Pass pass);

// A wait of an op of this slot on an op of an earlier slot of the same role. A *carried* wait is on
// that op as of the step before, whichever slot it is in; in the first step of a run nothing waits.
struct SlotWait {
    std::uint32_t op = 0;       // position in this slot's segment
    std::uint32_t slot = 0;     // index in the role's slots
    std::uint32_t slot_op = 0;  // position in that slot's segment
    bool carried = false;
};

// An op of a role's step.
struct SlotOp {
    std::uint32_t slot = 0;
    std::uint32_t op = 0;  // position in the slot's segment
};

struct Slot {
    SegmentId segment{};
    Pass pass = Pass::forward;
    std::int32_t chunk = -1;        // model chunk on this rank, or -1
    std::int32_t micro_batch = -1;  // or -1
    std::vector<SlotWait> waits;
};

struct Role {
    std::string name;  // "pp 0"
    std::vector<Slot> slots;
    // The host reads what these ops made (the gradient norm, the loss) before it launches the next
    // step; all else may still be under way then. Empty: it waits for all ops of the step.
    std::vector<SlotOp> host_reads{};
};

// Ranks with a mesh of their own: a whole job, or the pipeline stages that share one
// tensor-parallel size. Its ranks follow those of the party before it, and so do its roles.
struct Party {
    std::string name;             // of the job; empty if there is one
    Mesh mesh;                    // of its ranks
    std::uint32_t role_digit = 0;  // a rank's role is its coordinate along it
    std::uint32_t first_role = 0;
    // It belongs to the job of the party before it: their steps begin together, and a step has
    // ended when it has in all of them.
    bool continues_job = false;
};

struct Program {
    std::vector<Party> parties{1};  // by first rank
    std::vector<Role> roles;
    std::vector<Segment> segments;
    std::vector<Tensor> tensors;
    std::vector<Group> groups;
    std::vector<KernelCall> kernels;
    std::vector<CollectiveCall> collectives;
    std::vector<SendRecvCall> send_recvs;
    std::vector<PeerMap> peers;
    std::vector<CopyCall> copies;
    std::vector<HostWork> host_works;
    std::vector<std::uint32_t> waits;
    std::vector<Operand> operands;
    std::vector<std::string> names;
    std::vector<std::string> stream_names;  // by StreamId

    std::uint32_t num_ranks() const;
    std::uint32_t party_of(RankId rank) const;
    std::uint32_t party_of(RoleId role) const;
    const Mesh& mesh_of(RankId rank) const { return parties[party_of(rank)].mesh; }
    const Mesh& mesh_of(RoleId role) const { return parties[party_of(role)].mesh; }
    RoleId role_of(RankId rank) const;
    std::uint32_t ranks_of_role(RoleId role) const;
    // The first party of its job stands for the job.
    std::uint32_t job_of(std::uint32_t party) const {
        while (parties[party].continues_job) {
            --party;
        }
        return party;
    }
    // The first party of each.
    std::vector<std::uint32_t> jobs() const;
    // The rank that this rank sends to or receives from.
    RankId peer_of(RankId rank, const SendRecvPart& part) const;
    // The mesh and the digit of the roles, in a program of one party.
    const Mesh& mesh() const;
    std::uint32_t role_digit() const;
    const Segment& segment_of(const Slot& slot) const { return segments[index(slot.segment)]; }
    // What an op of that kind does.
    const KernelCall& kernel(const Op& op) const { return kernels[index(op.payload.kernel())]; }
    const CollectiveCall& collective(const Op& op) const {
        return collectives[index(op.payload.collective())];
    }
    const SendRecvCall& send_recv(const Op& op) const {
        return send_recvs[index(op.payload.send_recv())];
    }
    const CopyCall& copy(const Op& op) const { return copies[index(op.payload.copy())]; }
    const HostWork& host_work(const Op& op) const {
        return host_works[index(op.payload.host_work())];
    }
};

inline bool is_restart(const Program& program, const Op& op) {
    return op.kind() == OpKind::host && program.host_work(op).kind == HostWorkKind::restart;
}

// Whether it only sends messages, which go on their own on a device without streams too.
bool only_sends(const Program& program, const Op& op);

// Ops of one step over all ranks, or over those of a party.
std::int64_t num_ops(const Program& program);
std::int64_t num_ops(const Program& program, std::uint32_t party);

}  // namespace orrery
