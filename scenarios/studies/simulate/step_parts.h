// SPDX-License-Identifier: Apache-2.0
// The parts of a rank's time in a step. Every moment belongs to exactly one part. If several ops
// run at the same time, a kernel comes first, then communication that moves data, then an op that
// waits for its peers. The remaining time is the host's. Time that other processes took from the
// machine is a part of its own. The parts of a rank add up to its step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "engine/world/simulation.h"

namespace orrery {

enum class PartKind : std::uint8_t { kernel, communication, wait, host, others };
std::string_view name(PartKind kind);

struct StepPart {
    PartKind kind = PartKind::kernel;
    std::string name;  // "gemm", "all_reduce on dp", "wait for peers", "host"
    double runs = 0;
    double seconds = 0;
};

struct StepTimes {
    std::span<const TracedOp> ops;  // of one rank
    Time begin;                     // of the step; earlier times are cut off
    Time end;
    Time host_per_op;                 // the host's share of each op's time
    std::span<const Time> lost = {};  // by op: time lost to other processes; empty: none
    Time lost_outside;                // time lost outside of ops
    Time loss_wait;                   // wait for other ranks' lost time
};
// By (kind, name).
std::vector<StepPart> parts_of_step(const Program& program, const StepTimes& step);

// The mean of several such lists, over ranks or steps.
std::vector<StepPart> mean_parts(const std::vector<std::vector<StepPart>>& lists);

}  // namespace orrery
