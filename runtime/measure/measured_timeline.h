// SPDX-License-Identifier: Apache-2.0
// The recordings of all ranks of a run (runtime/measure/recording.h) in the form of the simulator's
// timeline (engine/world/simulation.h). The wait of each rank for its peers follows from the times
// at which the peers reached a communication op.
#pragma once

#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "runtime/measure/recording.h"

namespace orrery {

// All times are relative to the moment when the first rank began the step.
struct MeasuredStep {
    struct OfRank {
        Time begin;
        Time loss;       // arrival at the sum of the losses
        Time loss_data;  // arrival of the last rank there
        Time end;
        Time cpu;        // processor time of the process until it reached the sum of the losses
        Time lost;       // time outside of ops lost to other processes
        Time loss_lost;  // the same in the sum of the losses
        std::int64_t preemptions = 0;
    };
    std::int64_t step = 0;
    // The devices work independently of the processes, on several streams. Other processes take no
    // time from them, and a gap between two ops does not belong to the host.
    bool overlaps = false;
    std::vector<OfRank> ranks;
    std::vector<TracedOp> ops;  // ordered by (rank, start); TracedOp::step is 0
    // By op: its processor time, and the time that it lost because other processes had the
    // processors (an estimate for transfers, which also wait for messages). An undisturbed step
    // loses nothing.
    std::vector<Time> cpu;
    std::vector<Time> lost;
    // The duration of the step without such losses: the same kernels, gaps and transfers in
    // sequence, with new waits for peers.
    Time replayed;

    Time duration() const;  // mean over the ranks
    // Whether no rank lost the processor to another process.
    bool undisturbed() const;
    std::span<const TracedOp> of_rank(RankId rank) const;
    std::span<const Time> lost_of_rank(RankId rank) const;
};

// The steps that every rank has recorded. An error if the recordings do not belong to this Program.
Result<std::vector<MeasuredStep>> measured_steps(const Program& program,
                                                 const std::vector<RankRecording>& recordings,
                                                 bool overlaps = false);

// The steps that are most typical of the machine: the undisturbed ones if there are at least
// `enough`, else the shorter half of all steps.
std::vector<const MeasuredStep*> best_steps(const std::vector<MeasuredStep>& steps,
                                            std::size_t enough = 5);

}  // namespace orrery
