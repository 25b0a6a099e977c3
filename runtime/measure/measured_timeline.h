// SPDX-License-Identifier: Apache-2.0
// The recordings of all ranks of a run (runtime/measure/recording.h) as the simulator's own kind of
// timeline (engine/world/simulation.h). The times at which the peers of a communication op came to
// it tell how long each rank waited for its peers.
#pragma once

#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "runtime/measure/recording.h"

namespace orrery {

// All times count from the moment when the first rank began the step.
struct MeasuredStep {
    struct OfRank {
        Time begin;
        Time loss;       // came to the sum of the losses
        Time loss_data;  // when all had come to it
        Time end;
        Time cpu;        // its processor time until it came to the losses
        Time lost;       // outside of ops, to other processes
        Time loss_lost;  // of the sum of the losses, likewise
        std::int64_t preemptions = 0;
    };
    std::int64_t step = 0;
    // The ranks' devices work beside the processes, on several streams at once: other processes
    // take nothing from them, and what lies between two ops is not the host's.
    bool overlaps = false;
    std::vector<OfRank> ranks;
    std::vector<TracedOp> ops;  // by (rank, start); TracedOp::step is 0
    // By op: its processor time, and how long it did not get on because other processes had the
    // processors (an estimate for transfers, which also wait for messages). Nothing is lost in an
    // undisturbed step.
    std::vector<Time> cpu;
    std::vector<Time> lost;
    // How long the step would have taken without such losses: the same kernels, gaps and transfers
    // one after the other, and every rank waiting for its peers anew.
    Time replayed;

    Time duration() const;  // mean over ranks
    // Nobody took the processor away from any rank.
    bool undisturbed() const;
    std::span<const TracedOp> of_rank(RankId rank) const;
    std::span<const Time> lost_of_rank(RankId rank) const;
};

// Steps that every rank has recorded. Errors: recordings that are not of this Program.
Result<std::vector<MeasuredStep>> measured_steps(const Program& program,
                                                 const std::vector<RankRecording>& recordings,
                                                 bool overlaps = false);

// The steps that say most about the machine by itself: the undisturbed ones if there are at least
// `enough`, else the shorter half of all.
std::vector<const MeasuredStep*> best_steps(const std::vector<MeasuredStep>& steps,
                                            std::size_t enough = 5);

}  // namespace orrery
