// SPDX-License-Identifier: Apache-2.0
// The runs of the programs' parties: when the next run begins, the step of each rank, and the ended
// runs. A party makes one run after the other, together with the parties that continue its job.
// Runs of different jobs overlap freely.
#pragma once

#include <vector>

#include "engine/world/execution_part.h"
#include "engine/world/step_barrier.h"

namespace orrery {

// The end of a step: the time of its last end, the rank of that op, and the critical path to it.
struct StepEnd {
    Time time;
    PathTimes path;  // adds up to `time`; the time before the run's start counts as Cause::launch
    RankId rank{};
    bool reached = false;  // false: the step was skipped
};

struct RunEnd {
    std::uint32_t party = 0;
    Time start;
    std::vector<StepEnd> steps;

    Time end() const { return steps.back().time; }
};

class PartyRuns : ExecutionPart {
public:
    explicit PartyRuns(Execution& execution);

    // Starts a run of `steps` steps at `at`, which must not be in the past. The party's last run
    // must have ended.
    void start(std::uint32_t party, Time at, std::uint32_t steps);
    // The same at time zero, but simulates only the end of the last step but one and the last step.
    void start_at_barrier(std::uint32_t party,
                          std::uint32_t steps,
                          std::vector<RoleBarrier> barriers);

    // The time of the next run's begin; Time::max() if none is waiting.
    Time next_start() const { return starts_.empty() ? Time::max() : starts_.back().at; }
    // Begins the first steps of the runs that are due; false if none is.
    bool begin_due(Time now);
    // A stream has ended all items of its step.
    void end_stream(RankStreamId id);
    // A stream has ended the last item that its rank's host waits for before the next step.
    void end_host_read(RankStreamId id, Time now);

    // The number of runs that have not ended.
    std::uint32_t num_left() const { return num_left_; }
    bool any_ended() const { return !ended_.empty(); }
    // Removes and returns the first ended run.
    RunEnd take_ended();

private:
    struct Run {
        Time start;
        std::uint32_t steps = 0;
        std::uint32_t ranks_left = 0;  // rank classes
        bool under_way = false;
        std::vector<StepEnd> ends;          // by step
        std::vector<RoleBarrier> barriers;  // by role; empty: from the first step on
    };
    struct Start {
        Time at;
        std::uint32_t party = 0;
    };

    void begin(std::uint32_t party, Time now);
    void begin_step(RankClassId r, std::uint32_t step, Time now);
    void begin_first_step(RankClassId r, Time now);
    void begin_at_barrier(RankClassId r, const RoleBarrier& barrier);
    void next_step(RankClassId r, Time now);
    void enter(RankStreamId id, std::uint32_t step);
    void end_step(RankClassId r, std::uint32_t step, const LastEnd& last);
    void end_rank(std::uint32_t party, std::uint32_t width);
    Run& add(std::uint32_t party, Time at, std::uint32_t steps);

    std::vector<Run> runs_;                          // by party
    std::vector<std::vector<RankClassId>> ranks_;    // classes, by party
    std::vector<Start> starts_;                      // the earliest is last
    std::vector<std::uint32_t> ended_;               // parties; the first to end is last
    std::uint32_t num_left_ = 0;
};

}  // namespace orrery
