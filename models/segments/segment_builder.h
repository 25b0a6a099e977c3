// SPDX-License-Identifier: Apache-2.0
// Appends ops to one segment of a Program. Equal payloads share one table entry. Waits follow from
// the operands (models/segments/hazards.h); only waits for resources are given explicitly.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/program.h"
#include "models/plan/layout.h"
#include "models/plan/routed_tensor.h"
#include "models/segments/hazards.h"
#include "models/segments/lanes.h"

namespace orrery {

// A Program under construction. Equal entries of its tables are shared.
class ProgramTables {
public:
    explicit ProgramTables(Program& program) : program_(program) {}

    Program& program() { return program_; }
    // All later calls belong to this party of the Program.
    void enter(std::uint32_t party);
    std::uint32_t name(std::string_view text);
    KernelId kernel(const KernelCall& call);
    CollectiveId collective(const CollectiveCall& call);
    SendRecvId send_recv(const SendRecvCall& call);
    CopyId copy(const CopyCall& call);
    HostWorkId host_work(const HostWork& work);
    // The group that spans these mesh digits of the party.
    GroupId group(std::uint32_t digits);
    // The group over `digit` of only these coordinates.
    GroupId group(std::uint32_t digit, std::vector<std::uint32_t> subset);
    // The group that spans these digits and all stages, of all parties. The coordinates along the
    // other digits, which all parties have in common, distinguish the groups.
    GroupId group_over_stages(std::uint32_t digits);
    TensorId tensor(Tensor tensor);
    // A buffer in the host's memory.
    TensorId host_tensor(std::string name,
                         TensorKind kind,
                         Dtype dtype,
                         const Layout& layout,
                         Bytes bytes,
                         Lifetime lifetime = Lifetime::step);
    // Makes the buffer of a message that a rank sends or receives. `elements` counts those of one
    // rank.
    TensorId communication_buffer(std::string_view name,
                                  Dtype dtype,
                                  const Layout& layout,
                                  std::int64_t elements,
                                  Lifetime lifetime = Lifetime::slot);
    // FP8 copies that backward passes read in place of these 16-bit tensors.
    std::map<TensorId, TensorId>& saved_copies() { return saved_copies_; }
    // Tensors whose number of rows a router decides, in the order in which they were added.
    std::vector<RoutedTensor>& routed() { return routed_; }
    // The device scalar block (engine/program/device_scalars.h), one a party.
    TensorId scalars();
    // The buffer of plan.reduce_bucket_size elements, one a party.
    TensorId gradient_bucket(Dtype dtype, const Layout& layout, std::int64_t elements);

private:
    const Mesh& mesh() const { return program_.parties[party_].mesh; }

    GroupId group(Group wanted);

    std::uint32_t party_ = 0;
    std::optional<TensorId> scalars_;
    std::optional<TensorId> gradient_bucket_;
    Program& program_;
    std::map<std::string, std::uint32_t, std::less<>> names_;
    std::map<std::vector<std::int64_t>, KernelId> kernels_;
    std::map<std::vector<std::int64_t>, CollectiveId> collectives_;
    std::vector<std::int64_t> key_;  // scratch memory for the key of a look-up
    std::vector<RoutedTensor> routed_;
    std::map<TensorId, TensorId> saved_copies_;
};

struct OpSpec {
    std::string name;
    StreamId stream = kComputeStream;
    Cause cause = Cause::memory_bound_kernels;
    std::vector<TensorId> reads;
    std::vector<TensorId> writes;
    std::vector<TensorId> accumulates;
    std::uint8_t launches = 1;
    std::vector<TensorId> transposed{};  // operands that the op takes transposed
    // The column part of each operand that the op uses (engine/program/program.h); empty: all
    // columns.
    std::vector<std::int8_t> read_parts{};
    std::vector<std::int8_t> write_parts{};
    // Operands of which the op uses only piece `piece` of `pieces` (engine/program/program.h).
    std::vector<TensorId> in_pieces{};
    std::uint16_t piece = 0;
    std::uint16_t pieces = 1;
};

inline OpSpec named(std::string_view name) {
    return {.name = std::string{name}, .reads = {}, .writes = {}, .accumulates = {}};
}

class SegmentBuilder {
public:
    SegmentBuilder(ProgramTables& tables, std::string name);

    // Each appends an op and returns its position in the segment.
    std::uint32_t kernel(const KernelCall& call, const OpSpec& spec);
    std::uint32_t collective(const CollectiveCall& call, const OpSpec& spec);
    std::uint32_t send_recv(const SendRecvCall& call, const OpSpec& spec);
    std::uint32_t copy(const CopyCall& call, const OpSpec& spec);
    std::uint32_t host(const HostWork& work, const OpSpec& spec);

    // Whether a CUDA graph launches the following ops. The host launches the graph with its first
    // op. capture(false) ends the graph.
    void capture(bool in_graph) {
        graph_launched_ = graph_launched_ && in_graph;
        in_graph_ = in_graph;
    }
    // The host works as long as this many calls take before it launches the next op. A graph's ops
    // need no such work.
    void host_works_before_next(std::uint8_t calls) { calls_before_next_ = calls; }
    // The next appended op also waits for this one, for a resource rather than for data.
    void next_waits_for(std::uint32_t op);
    // Replaces a tensor in all ops up to now. No op may use `to` yet.
    void rename(TensorId from, TensorId to);
    // Ops from now on use `to` where they name `from`.
    void substitute(TensorId from, TensorId to) { substitutes_[from] = to; }
    // The position of the last op on this stream, if there is one.
    std::optional<std::uint32_t> last_on(StreamId stream) const;
    std::uint32_t size() const { return static_cast<std::uint32_t>(segment_.ops.size()); }
    const std::vector<Op>& ops() const { return segment_.ops; }
    ProgramTables& tables() { return tables_; }
    SegmentId finish();

private:
    using Place = std::uint32_t;  // an op's position + 1
    struct Uses {
        TensorUses<Place> whole{};
        std::vector<TensorUses<Place>> pieces{};  // of the tensor, once an op has taken one of them
    };
    std::span<TensorUses<Place>> uses_of(TensorId tensor, const OpSpec& spec);
    void add_operands(const OpSpec& spec);
    std::uint32_t append(Payload payload, const OpSpec& spec);
    std::uint8_t launches_of(const OpSpec& spec);

    ProgramTables& tables_;
    Segment segment_;
    std::vector<Uses> uses_;               // in the order of first use
    std::vector<std::uint32_t> place_of_;  // by tensor: position in uses_ + 1, or 0
    std::vector<std::uint32_t> extra_waits_;
    std::map<TensorId, TensorId> substitutes_;
    bool in_graph_ = false;
    bool graph_launched_ = false;
    std::uint8_t calls_before_next_ = 0;
};

}  // namespace orrery
