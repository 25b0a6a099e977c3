// SPDX-License-Identifier: Apache-2.0
#include "scenarios/what_if.h"

#include <map>

namespace orrery {

void remove_communication(Program& program, Cause cause) {
    const auto nothing = static_cast<std::uint32_t>(program.host_works.size());
    program.host_works.push_back({.duration = Time{}});
    for (Segment& segment : program.segments) {
        for (Op& op : segment.ops) {
            const bool communicates = op.kind == OpKind::collective || op.kind == OpKind::send_recv;
            if (communicates && op.cause == cause) {
                op.kind = OpKind::host;
                op.payload = nothing;
            }
        }
    }
}

void isolate_kernels(Program& program, Cause cause) {
    std::map<std::uint32_t, std::uint32_t> copies;
    for (Segment& segment : program.segments) {
        for (Op& op : segment.ops) {
            if (op.kind != OpKind::kernel || op.cause != cause) {
                continue;
            }
            const auto [copy, added] =
                copies.emplace(op.payload, static_cast<std::uint32_t>(program.kernels.size()));
            if (added) {
                program.kernels.push_back(KernelCall{program.kernels[op.payload]});
            }
            op.payload = copy->second;
        }
    }
}

void remove_kernel_time(const Program& program, Cause cause, DeviceTimings& timings) {
    const bool counted =
        cause == Cause::gemm_inefficiency || cause == Cause::attention_inefficiency;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind == OpKind::kernel && op.cause == cause) {
                KernelTime& time = timings.kernels[op.payload];
                time.duration = counted ? time.ideal : Time{};
                time.ideal = counted ? time.ideal : Time{};
            }
        }
    }
}

}  // namespace orrery
