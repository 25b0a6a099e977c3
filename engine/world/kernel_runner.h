// SPDX-License-Identifier: Apache-2.0
// Runs of kernels and host work, and the slow-down of kernels by the SMs that communication holds.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class KernelRunner : ExecutionPart {
public:
    explicit KernelRunner(Execution& execution);

    void begin_run(RankStreamId id, const TapeItem& item, Time now);
    void end_run(RankStreamId id, Time now);
    // Sets the path to the run's end and adds its time to the counts.
    void finish_run(RankStreamId id, const TapeItem& item, Time now);

    // The SMs that a communication op of a rank holds, at most 65,535 (more than any device has).
    std::uint16_t sms_of(RankClassId r, const TapeItem& item) const;
    // An op takes `sms` SMs, or returns them (negative): the rank's runs on other streams change
    // their rates.
    void change_held(RankClassId r, Time now, std::int64_t sms);

    // Whether the op must find free SMs before it arrives (rule 11 of engine/world/simulation.h).
    bool queues(RankClassId r, const TapeItem& item) const;
    // When the kernels end that the queueing op of this stream waits for; `now` or earlier: it
    // waits for none.
    Time sms_free(RankStreamId id, Time now);

    // Advances a walk to `now` and traces the ops that end on the way.
    void trace_walk(RankStreamId id, Time now);
    // Starts walks of the rank's runs, if needed, and advances them to `now`.
    void walk_runs(RankClassId r, Time now);
    // Schedules the ends of the rank's walks at their present rates, and what waits for them.
    void schedule_walks(RankClassId r, Time now);

private:
    void find_role_sms();
    void schedule_queues(RankClassId r, Time now);
    Time end_of_kernels(RankClassId r, Time asked) const;
    void release_host(RankStreamId id, const TapeItem& item, Time now);
    void keep_launches(RankClassId r, Time now);

    std::vector<WalkedOp> walked_;
    // By message of each connection of a role's tape; first[c] is the index of the first message of
    // connection c.
    struct RoleSms {
        std::vector<std::uint32_t> first;
        std::vector<std::uint32_t> of_message;
    };
    std::vector<RoleSms> role_sms_;
    bool queues_ = false;  // on any device
};

}  // namespace orrery
