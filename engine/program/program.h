// SPDX-License-Identifier: Apache-2.0
// A Program says what every rank does in one training step: kernels and collectives on in-order
// streams. Lowering makes it once from (model, plan, schedule); the simulated and the real executor
// run it. The executors know nothing of transformers, and the lowering does not know which executor
// will run.
//
// A Program has three tables. *Segments* are straight-line op lists, lowered once each. The *slots*
// of a role are the schedule's order of segments, each with its chunk and micro-batch. *Tensors*
// name the data that the ops read and write. Ranks of one role run the same slots. The role and the
// peers of a rank follow from the mesh by arithmetic.
//
// Program order sorts the ops of a role by (slot, position in the slot's segment). The host
// launches them in this order. A wait always names an op that is earlier in program order.
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

// Operands of an op: the tensors that it reads, writes and accumulates into, each in the order of
// runtime/kernel_operands.h. An in-place op has a read and a write operand of the same tensor.
enum class Access : std::uint8_t { read, write, accumulate };
struct Operand {
    TensorId tensor{};
    Access access = Access::read;
    bool transposed = false;  // the op uses the tensor's transpose (gemm: A, B or C; rope)
    std::int8_t part = -1;    // index of the one column part (Tensor) that it uses; -1: all parts
    // Index of the one of `pieces` pieces of tokens that it uses (sequence_blocks)
    std::uint16_t piece = 0;
    std::uint16_t pieces = 1;
};

// The action of an op: an entry of the Program's table for the op's kind.
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
    constexpr std::uint32_t number() const { return number_; }  // index in the table of its kind
    // Each asserts that the payload is of its kind.
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
    std::uint8_t launches = 1;     // host launches (an unfused op may be several kernels)
    std::uint32_t name = 0;        // index into Program::names
    std::uint32_t first_wait = 0;  // Program::waits: positions of earlier ops in this segment
    std::uint32_t num_waits = 0;
    std::uint32_t first_operand = 0;  // Program::operands
    std::uint32_t num_operands = 0;

    OpKind kind() const { return payload.kind(); }
};

enum class Reduction : std::uint8_t { sum, max };

// The engine that moves the bytes of a transfer: communication kernels on SMs, the device's copy
// engines (DMA), or threads of the host.
enum class TransferEngine : std::uint8_t { sm, copy_engine, host };
std::string_view name(TransferEngine engine);

// The engine that a collective asks for. Copy engines hold no SMs. They cannot add, and reach only
// devices that load and store each other's memory; between nodes SMs still move the bytes. A
// network may answer `host` (TransferPlan::engine), but a collective cannot ask for it.
struct Mover {
    TransferEngine engine = TransferEngine::sm;
    // The most SMs to hold (NCCL's maxCTAs), with engine `sm` only; 0: the library decides.
    std::uint16_t sm_limit = 0;
    auto operator<=>(const Mover&) const = default;
};

// An all_to_all that takes rows of tokens to the ranks of their experts, or back. The members are
// the arguments that a library for such exchanges takes. The network lays it on links
// (network/collectives/dispatcher.h).
struct RowExchange {
    // The library, counted from 1 in the network's list; 0: a plain all_to_all of equal parts
    std::uint8_t dispatcher = 0;
    bool combine = false;            // the same rows on their way back to the senders
    std::uint16_t choices = 0;       // experts of each token
    std::uint16_t server_limit = 0;  // most nodes with experts of one token; 0: no limit
    bool consecutive = false;        // a token's experts are consecutive ones, not drawn
    std::uint32_t experts = 0;       // of all members
    std::int64_t tokens = 0;         // mean number of tokens of a member
    Bytes row{};                     // bytes of one row
    // The share of all rows that each member's experts get, in millionths, by member. Empty: equal
    // shares.
    std::vector<std::uint32_t> shares{};
    bool operator==(const RowExchange&) const = default;
};

struct CollectiveCall {
    CollectiveKind kind = CollectiveKind::all_reduce;
    GroupId group{};
    // Bytes of the whole vector, as NCCL's nBytes. all_reduce: the buffer; all_gather: the gathered
    // result; reduce_scatter: the unreduced input; all_to_all: everything that one rank sends.
    Bytes bytes;
    Dtype wire = Dtype::bf16;
    // The operations of one (group, communicator) have one total order, the same on all members.
    std::uint16_t communicator = 0;
    Mover mover;
    Reduction reduction = Reduction::sum;  // of all_reduce and reduce_scatter
    RowExchange rows{};                    // of all_to_all
    bool operator==(const CollectiveCall&) const = default;
};

// One message of a send_recv op. The k-th send from a to b on a communicator pairs with b's k-th
// receive from a. The parts of one op progress together, and the op ends with its last part.
struct SendRecvPart {
    bool is_send = true;
    // The peer is the rank at distance `delta` along this digit (wrapping).
    std::uint32_t digit = 0;
    int delta = 1;
    // Index into Program::peers if the peer is in another party, else -1.
    std::int32_t peers = -1;
    Bytes bytes{};
    std::uint16_t communicator = 0;
    // The operand is replicated along these mesh digits (bits). Each rank sends only its slice of
    // the first dimension.
    std::uint32_t slice_digits = 0;
    // The message has this one of `pieces` equal parts of the operand's first dimension. A rank has
    // several peers if the other party cuts the tensor into more parts.
    std::uint16_t piece = 0;
    std::uint16_t pieces = 1;
    bool operator==(const SendRecvPart&) const = default;
};
struct SendRecvCall {
    std::vector<SendRecvPart> parts;
    bool operator==(const SendRecvCall&) const = default;
};

// A copy of one rank's bytes between neighbouring tiers: DRAM lies between HBM and NVMe. Copy
// engines (DMA) move the bytes; no SM is held.
struct CopyCall {
    MemoryTier from = MemoryTier::hbm;
    MemoryTier to = MemoryTier::dram;
    Bytes bytes;
    bool operator==(const CopyCall&) const = default;
};

enum class HostWorkKind : std::uint8_t {
    given,  // takes HostWork::duration
    // The host has waited for the device and starts to launch again. It takes
    // DeviceTimings::restart of its device. The real executor skips it.
    restart,
};
struct HostWork {
    Time duration;  // with HostWorkKind::given
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
    slot,         // inside one slot
    micro_batch,  // from the slot that writes it to the last slot of the same chunk and micro-batch
    step,         // from its first write to its last use in the step
    persistent,   // across steps
};
std::string_view name(Lifetime lifetime);

// How the ranks along a mesh digit hold a tensor.
//   replicate  each rank holds all of it
//   shard      each rank holds a part of dimension `dim`
//   partial    each rank holds a term of the sum
//   flat       each rank holds an equal part of the elements in memory order, the last part padded
//              (ZeRO's flat shards); the cut applies to the part that the other digits leave
//   routed     each rank holds the rows of its experts; `dim` is the dimension of the rows
enum class Placement : std::uint8_t { replicate, shard, partial, flat, routed };
struct DigitPlacement {
    Placement placement = Placement::replicate;
    std::int8_t dim = -1;  // the cut dimension; -1 if there is none
    // Coordinate c holds the pieces c and 2 n - 1 - c of 2 n pieces (n: the digit's size), in this
    // order, instead of piece c of n. All ranks then have equal work under a causal mask.
    bool mirrored = false;
    // The rank holds the part of the rank at distance `shift` along the digit (wrapping): a block
    // that travels around a ring.
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
    std::vector<DigitPlacement> layout;  // in memory, by mesh digit
    // The layout of a weight or gradient in the optimizer's step, if each rank updates only a part
    // of a tensor that it holds whole (ZeRO 1 and 2). Empty: `layout`.
    std::vector<DigitPlacement> step_layout{};
    // If not empty, the last dimension consists of these parts (heads of Q, K and V; gate and up),
    // and a mesh digit that shards the dimension cuts each part.
    std::vector<std::int64_t> column_parts;
    // Ops may use an activation in pieces of its tokens, so that the transfer of one piece overlaps
    // the work on another. The rank's sequence consists of this number of equal blocks, and a piece
    // has an equal part of each block. A tensor that is gathered in pieces has one block from each
    // rank.
    std::int64_t sequence_blocks = 1;
    Bytes bytes;  // of one rank's part, as stored
    MemoryTier tier = MemoryTier::hbm;
    bool input = false;  // written from outside before the step: data, device scalars
    // The purpose and stream (kernels/random.h) of the tensor's random numbers, for example of a
    // dropout mask; -1: none. The key also has the seed, the micro-batch and the place in the whole
    // tensor.
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
    backward,  // both backward passes in one
    // A vocabulary that all stages share (plan.vocabulary_parallel): the last stage's output goes
    // to all, each computes its part of the loss, and then the gradients.
    loss_input,
    loss_forward,
    loss_backward,
    // The rows of the input embedding that a stage has; its output's gradient, which goes to all
    // stages; and the rows' gradients.
    embedding_forward,
    embedding_gradient,
    embedding_backward,
    gradient_sync,
    parameter_sync,
    optimizer,
};
std::string_view name(Pass pass);

// A wait of an op of this slot on an earlier op of the same role. A *carried* wait is on that op in
// the step before, and its slot may be any. In the first step of a run carried waits do not exist.
struct SlotWait {
    std::uint32_t op = 0;       // position of the waiting op in this slot's segment
    std::uint32_t slot = 0;     // index in the role of the slot that is waited on
    std::uint32_t slot_op = 0;  // position of the op in that slot's segment
    bool carried = false;
};

// The address of an op in a role's step.
struct SlotOp {
    std::uint32_t slot = 0;
    std::uint32_t op = 0;  // position in the slot's segment
};

struct Slot {
    SegmentId segment{};
    Pass pass = Pass::forward;
    std::int32_t chunk = -1;        // model chunk of this rank, or -1
    std::int32_t micro_batch = -1;  // or -1
    std::vector<SlotWait> waits;
};

struct Role {
    std::string name;  // "pp 0"
    std::vector<Slot> slots;
    // The host reads the results of these ops (the gradient norm, the loss) before it launches the
    // next step; other ops may still be running then. Empty: it waits for all ops of the step.
    std::vector<SlotOp> host_reads{};
};

// Ranks with a mesh of their own: a whole job, or the pipeline stages with one tensor-parallel
// size. Its ranks and roles follow those of the party before it.
struct Party {
    std::string name;              // name of the job; empty if there is only one
    Mesh mesh;                     // of its ranks
    std::uint32_t role_digit = 0;  // a rank's role is its coordinate along this digit
    std::uint32_t first_role = 0;
    // True if the party belongs to the job of the party before it. The steps of both begin
    // together, and a step of the job ends with its last party.
    bool continues_job = false;
};

struct Program {
    std::vector<Party> parties{1};  // in the order of their ranks
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
    // The job of a party, named by the job's first party.
    std::uint32_t job_of(std::uint32_t party) const {
        while (parties[party].continues_job) {
            --party;
        }
        return party;
    }
    // The first party of each job.
    std::vector<std::uint32_t> jobs() const;
    // The peer that `rank` sends this message to, or receives it from.
    RankId peer_of(RankId rank, const SendRecvPart& part) const;
    // The mesh and the role digit of a program that has one party.
    const Mesh& mesh() const;
    std::uint32_t role_digit() const;
    const Segment& segment_of(const Slot& slot) const { return segments[index(slot.segment)]; }
    // The action of an op of the named kind.
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

// Whether the op only sends messages. Such an op proceeds by itself even on a device without
// streams.
bool only_sends(const Program& program, const Op& op);

// The number of ops in one step, over all ranks or over the ranks of one party.
std::int64_t num_ops(const Program& program);
std::int64_t num_ops(const Program& program, std::uint32_t party);

}  // namespace orrery
