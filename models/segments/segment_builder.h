// SPDX-License-Identifier: Apache-2.0
// Appends ops to one segment of a Program. Equal payloads share one table entry, and waits follow
// from the operands (models/segments/hazards.h); only a wait for a resource is given by hand.
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

// A Program under construction: tables with equal entries shared.
class ProgramTables {
public:
    explicit ProgramTables(Program& program) : program_(program) {}

    Program& program() { return program_; }
    // What follows belongs to this party of the Program.
    void enter(std::uint32_t party);
    std::uint32_t name(std::string_view text);
    KernelId kernel(const KernelCall& call);
    CollectiveId collective(const CollectiveCall& call);
    SendRecvId send_recv(const SendRecvCall& call);
    CopyId copy(const CopyCall& call);
    HostWorkId host_work(const HostWork& work);
    // The group that spans these mesh digits of the party.
    GroupId group(std::uint32_t digits);
    // The group over `digit` that only these coordinates of it take part in.
    GroupId group(std::uint32_t digit, std::vector<std::uint32_t> subset);
    // The group that spans these digits and all stages, of whatever party. Along the other digits,
    // which all parties have alike, ranks are in groups of their own.
    GroupId group_over_stages(std::uint32_t digits);
    TensorId tensor(Tensor tensor);
    // A buffer in the host's memory.
    TensorId host_tensor(std::string name,
                         TensorKind kind,
                         Dtype dtype,
                         const Layout& layout,
                         Bytes bytes,
                         Lifetime lifetime = Lifetime::step);
    // Tensors whose rows routers decide, in the order in which they were added.
    std::vector<RoutedTensor>& routed() { return routed_; }
    // The device scalar block (engine/program/device_scalars.h), one a party.
    TensorId scalars();

private:
    const Mesh& mesh() const { return program_.parties[party_].mesh; }

    GroupId group(Group wanted);

    std::uint32_t party_ = 0;
    std::optional<TensorId> scalars_;
    Program& program_;
    std::map<std::string, std::uint32_t, std::less<>> names_;
    std::map<std::vector<std::int64_t>, KernelId> kernels_;
    std::map<std::vector<std::int64_t>, CollectiveId> collectives_;
    std::vector<std::int64_t> key_;  // of what is asked for
    std::vector<RoutedTensor> routed_;
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
    // Which column part of each operand the op works with (engine/program/program.h); empty: all.
    std::vector<std::int8_t> read_parts{};
    std::vector<std::int8_t> write_parts{};
    // Operands of which the op takes only piece `piece` of `pieces` (engine/program/program.h).
    std::vector<TensorId> in_pieces{};
    std::uint16_t piece = 0;
    std::uint16_t pieces = 1;
};

class SegmentBuilder {
public:
    SegmentBuilder(ProgramTables& tables, std::string name);

    // Position of the new op in the segment.
    std::uint32_t kernel(const KernelCall& call, const OpSpec& spec);
    std::uint32_t collective(const CollectiveCall& call, const OpSpec& spec);
    std::uint32_t send_recv(const SendRecvCall& call, const OpSpec& spec);
    std::uint32_t copy(const CopyCall& call, const OpSpec& spec);
    std::uint32_t host(const HostWork& work, const OpSpec& spec);

    // Whether a CUDA graph launches the ops that follow: the host launches it with its first op.
    // The graph ends where ops follow that it does not launch.
    void capture(bool in_graph) {
        graph_launched_ = graph_launched_ && in_graph;
        in_graph_ = in_graph;
    }
    // The next op appended also waits for this one (a resource, not a datum).
    void next_waits_for(std::uint32_t op);
    // What the ops so far do with one tensor they do with another, which none of them has.
    void rename(TensorId from, TensorId to);
    // Position of the last op so far on this stream, or nothing.
    std::optional<std::uint32_t> last_on(StreamId stream) const;
    std::uint32_t size() const { return static_cast<std::uint32_t>(segment_.ops.size()); }
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
    bool in_graph_ = false;
    bool graph_launched_ = false;
};

}  // namespace orrery
