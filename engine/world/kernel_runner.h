// SPDX-License-Identifier: Apache-2.0
// Runs of kernels and host work, and what they lose to the SMs that communication holds.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class KernelRunner : ExecutionPart {
public:
    explicit KernelRunner(Execution& execution);

    void begin_run(RankStreamId id, const TapeItem& item, Time now);
    void end_run(RankStreamId id, Time now);
    // Sets the path to the run's end and counts its time.
    void finish_run(RankStreamId id, const TapeItem& item, Time now);

    // The SMs that a communication op of a rank holds; at most 65,535, more than a device has.
    std::uint16_t sms_of(RankClassId r, const TapeItem& item) const;
    // An op takes (or gives back) SMs: runs of the rank's other streams change their pace.
    void change_held(RankClassId r, Time now, std::int64_t sms);

    // Brings a walk up to `now` and traces the ops that end on the way.
    void trace_walk(RankStreamId id, Time now);
    // Brings the rank's runs up to `now`, as walks.
    void walk_runs(RankClassId r, Time now);
    // When they end from now on.
    void schedule_walks(RankClassId r);

private:
    void find_role_sms();

    std::vector<WalkedOp> walked_;
    // By message of each connection of a role's tape; connection c's begin at first[c].
    struct RoleSms {
        std::vector<std::uint32_t> first;
        std::vector<std::uint32_t> of_message;
    };
    std::vector<RoleSms> role_sms_;
};

}  // namespace orrery
