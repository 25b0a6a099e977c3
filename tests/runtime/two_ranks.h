// SPDX-License-Identifier: Apache-2.0
// Recordings by hand of a Program of two ranks.
#pragma once

#include <utility>
#include <vector>

#include "engine/program/program.h"
#include "runtime/measure/measured_timeline.h"

namespace orrery {

// Of each rank: a kernel, an all_reduce of both, a kernel, an all_reduce.
inline Program two_ranks() {
    Program program;
    program.parties.front().mesh = Mesh{{{"dp", 2}, {"pp", 1}}};
    program.parties.front().role_digit = 1;
    program.groups = {{.name = "dp", .digits = 1, .subset = {}, .explicit_ranks = {}}};
    program.kernels = {{}};
    program.collectives = {{.kind = CollectiveKind::all_reduce, .bytes = Bytes{64}}};
    program.names = {"op"};
    program.segments = {{"all",
                         {{.payload = KernelId{0}},
                          {.payload = CollectiveId{0}},
                          {.payload = KernelId{0}},
                          {.payload = CollectiveId{0}}}}};
    program.roles = {{"pp 0", {{.segment = SegmentId{0}}}}};
    return program;
}

inline RecordedOp op(std::uint32_t index,
                     std::int64_t begin_us,
                     std::int64_t end_us,
                     std::int64_t cpu_us) {
    return {0, index, begin_us * 1000, end_us * 1000, cpu_us * 1000};
}

// `preemptions`: without any, nothing counts as lost.
inline RankRecording rank_of(std::vector<RecordedOp> ops,
                             std::int64_t loss_us,
                             std::int64_t end_us,
                             std::int64_t preemptions = 0) {
    // Outside of ops nothing is lost.
    std::int64_t cpu = loss_us * 1000;
    for (const RecordedOp& o : ops) {
        cpu += o.cpu_ns - (o.end_ns - o.begin_ns);
    }
    return {.steps = {{.step = 1,
                       .begin_ns = 0,
                       .end_ns = end_us * 1000,
                       .loss_ns = loss_us * 1000,
                       .cpu_ns = cpu,
                       .preemptions = preemptions,
                       .ops = std::move(ops)}}};
}

inline Time us(std::int64_t n) {
    return Time::picoseconds(n * 1'000'000);
}

}  // namespace orrery
