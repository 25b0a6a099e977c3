// SPDX-License-Identifier: Apache-2.0
// Programs for tests, an op a line. One segment and one slot per role; ops go to the role that is
// current. Kernels are made as they are used, with their durations on device class 0.
#pragma once

#include <utility>
#include <vector>

#include "engine/world/simulation.h"
#include "tests/reference/program_builder.h"

namespace orrery {

inline constexpr std::uint8_t kCompute = 0;
inline constexpr std::uint8_t kNet = 1;
inline constexpr std::uint8_t kOther = 2;

class ProgramBuilder {
public:
    using Waits = std::vector<std::uint32_t>;

    // Roles are the coordinates of the last axis.
    explicit ProgramBuilder(std::vector<MeshDigit> axes) {
        program.parties.front().role_digit = static_cast<std::uint32_t>(axes.size() - 1);
        const std::uint32_t roles = axes.back().size;
        program.parties.front().mesh = Mesh(std::move(axes));
        for (std::uint32_t r = 0; r < roles; ++r) {
            program.segments.push_back({"work", {}});
            program.roles.push_back({"role " + std::to_string(r), {}});
            Slot slot;
            slot.segment = to_id<SegmentId>(r);
            program.roles.back().slots.push_back(slot);
        }
        device.num_sms = 100;
    }

    ProgramBuilder& role(std::uint32_t r) {
        role_ = r;
        return *this;
    }

    // The group of the ranks that differ along the axes of the mask.
    GroupId group(std::string name, std::uint32_t axes, std::vector<std::uint32_t> subset = {}) {
        Group g;
        g.name = std::move(name);
        g.digits = axes;
        g.subset_digit = program.role_digit();
        g.subset = std::move(subset);
        return to_id<GroupId>(reference::append(program.groups, g));
    }

    std::uint32_t kernel(Time duration,
                         std::uint8_t stream = kCompute,
                         const Waits& waits = {},
                         Cause cause = Cause::memory_bound_kernels,
                         Time ideal = {}) {
        KernelTime time;
        time.duration = duration;
        time.ideal = ideal;
        device.kernels.push_back(time);
        return add(OpKind::kernel, reference::append(program.kernels, {}), stream, waits, cause);
    }

    std::uint32_t collective(GroupId group,
                             Bytes bytes,
                             std::uint8_t stream = kNet,
                             const Waits& waits = {},
                             Cause cause = Cause::exposed_data) {
        CollectiveCall call;
        call.group = group;
        call.bytes = bytes;
        return add(
            OpKind::collective, reference::append(program.collectives, call), stream, waits, cause);
    }

    std::uint32_t exchange(std::vector<SendRecvPart> parts,
                           std::uint8_t stream = kNet,
                           const Waits& waits = {}) {
        return add(OpKind::send_recv,
                   reference::append(program.send_recvs, {std::move(parts)}),
                   stream,
                   waits,
                   Cause::exposed_pipeline);
    }

    std::uint32_t copy(const CopyCall& call, std::uint8_t stream = kNet, const Waits& waits = {}) {
        return add(OpKind::copy,
                   reference::append(program.copies, call),
                   stream,
                   waits,
                   Cause::exposed_other);
    }

    std::uint32_t host(Time duration,
                       std::uint8_t stream = kOther,
                       const Waits& waits = {},
                       Cause cause = Cause::host) {
        return add(
            OpKind::host, reference::append(program.host_works, {duration}), stream, waits, cause);
    }

    // One step, every rank traced.
    SimulationInput input(const NetworkModel& network) const {
        SimulationInput in;
        in.program = &program;
        in.network = &network;
        in.devices = {device};
        in.steps = 1;
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            in.traced_ranks.push_back(to_id<RankId>(r));
        }
        return in;
    }

    Program program;
    DeviceTimings device;

private:
    std::uint32_t add(
        OpKind kind, std::uint32_t payload, std::uint8_t stream, const Waits& waits, Cause cause) {
        Op op;
        op.stream = to_id<StreamId>(stream);
        op.cause = cause;
        op.payload = {kind, payload};
        op.name = reference::append(program.names, "op " + std::to_string(program.names.size()));
        return reference::append_op(program, to_id<SegmentId>(role_), op, waits);
    }

    std::uint32_t role_ = 0;
};

}  // namespace orrery
