// SPDX-License-Identifier: Apache-2.0
// What a rank does with the time of a step: every moment belongs to exactly one part. Where several
// ops run at once a kernel comes first, then communication that moves data, then an op that waits
// for its peers; what is left is the host's. What other processes took from the machine is a part
// of its own. The parts of a rank add up to its step.
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
    Time begin;                     // of the step: ops are clipped to it
    Time end;
    Time host_per_op;                 // how much of each op's time is the host's
    std::span<const Time> lost = {};  // by op, to other processes; empty: nothing
    Time lost_outside;                // of ops
    Time loss_wait;                   // for the other ranks' losses
};
// By (kind, name).
std::vector<StepPart> parts_of_step(const Program& program, const StepTimes& step);

// The mean of several such lists: of ranks, of steps.
std::vector<StepPart> mean_parts(const std::vector<std::vector<StepPart>>& lists);

}  // namespace orrery
