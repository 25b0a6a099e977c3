// SPDX-License-Identifier: Apache-2.0
// The runs of the programs' parties: when the next one begins, which step each rank is in, and
// which runs have ended. A party makes one run after the other, together with the parties that
// continue its job; runs of different jobs overlap as they like.
#pragma once

#include <vector>

#include "engine/world/execution_part.h"
#include "engine/world/step_barrier.h"

namespace orrery {

// The end of a step: when its last op ended, on which rank, and the critical path to it.
struct StepEnd {
    Time time;
    PathTimes path;  // adds up to `time`; the time before the run's start lies in Cause::launch
    RankId rank{};
    bool reached = false;  // false: the step was left out
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

    // The party makes `steps` steps from `at` on, not before the present instant. It must have no
    // run that has not ended.
    void start(std::uint32_t party, Time at, std::uint32_t steps);
    // The same at time zero, but only the end of the last step but one and the last are run.
    void start_at_barrier(std::uint32_t party,
                          std::uint32_t steps,
                          std::vector<RoleBarrier> barriers);

    // When the next run begins that has not begun; Time::max() if there is none.
    Time next_start() const { return starts_.empty() ? Time::max() : starts_.back().at; }
    // The first steps of the runs that begin now; false if none does.
    bool begin_due(Time now);
    // A stream has ended all items of its step.
    void end_stream(RankStreamId id);
    // It has ended the last item that its rank's host waits for before the next step.
    void end_host_read(RankStreamId id, Time now);

    // Runs that have not ended.
    std::uint32_t num_left() const { return num_left_; }
    bool any_ended() const { return !ended_.empty(); }
    // The first of the runs that have ended and were not taken yet.
    RunEnd take_ended();

private:
    struct Run {
        Time start;
        std::uint32_t steps = 0;
        std::uint32_t ranks_left = 0;  // classes
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
    std::vector<Start> starts_;                      // the earliest last
    std::vector<std::uint32_t> ended_;               // parties, the first last
    std::uint32_t num_left_ = 0;
};

}  // namespace orrery
