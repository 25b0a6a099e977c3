// SPDX-License-Identifier: Apache-2.0
// Accelerations::local_clocks. A lockstep group that is together runs by a clock of its own
// (engine/world/local_times.h). Its runs and its collectives have no events: each of its streams
// knows when what it does ends, and the group *catches up* when a transfer from elsewhere ends on
// it, or when it may have got to an op that concerns others: for that it has one event, no later
// than that op. Until then no other group sees what it does, so only the order of the work changes,
// and what a group does in a row lies in the cache.
// When a member goes on without the others, or when something comes over the links of the group's
// collectives, the streams get events again.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class LocalClocks : ExecutionPart {
public:
    // The event of the group of leader r has the target kTarget | r.
    static constexpr std::uint32_t kTarget = std::uint32_t{1} << 31;

    using ExecutionPart::ExecutionPart;

    // Before something happens to the group of leader r at `now`.
    void catch_up_before(RankClassId r, Time now) {
        if (state_.ranks[r].local_clock) {
            catch_up(r, now);
            touched_.push_back(r);
        }
    }
    // After all that happened at this instant to groups that caught up.
    void plan_wakes();
    // The group's event.
    void wake(RankClassId r, Time now);

    void begin_collective(RankStreamId id, const TapeItem& item, Time now);
    void end_collective(RankStreamId id, Time now);

    // From the common clock to the group's own, if the group can keep one.
    void begin(RankClassId r);
    // Back to the common clock, at an instant up to which the group has caught up.
    void end(RankClassId r);
    // Something comes over the links of the collectives on `connection`.
    void end_on(ConnectionClassId connection, Time now);
    // Nothing will ever happen before `until` but what the groups do by themselves.
    void end_all(Time until);

private:
    void catch_up(RankClassId r, Time until);
    Time next_due(RankClassId r) const;
    Time earliest_start(RankStreamId id) const;
    Time earliest_end(RankStreamId id, std::uint32_t items) const;
    Time earliest_end_in(RankStreamId id, std::uint32_t step, std::uint32_t items) const;
    void plan_wake(RankClassId r);
    bool may_begin(RankClassId r) const;
    ConnectionClassId connection_of_group(RankClassId r) const {
        return plan_.groups.groups[plan_.groups.group_of[r]].connection;
    }
    const ConnectionMessage& group_message(RankClassId r, const TapeItem& item) const;

    std::vector<RankClassId> touched_;  // leaders with local clocks that an event changed
};

}  // namespace orrery
