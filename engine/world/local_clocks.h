// SPDX-License-Identifier: Apache-2.0
// Accelerations::local_clocks: a lockstep group that is together advances on a clock of its own
// (engine/world/local_times.h). Its runs and collectives have no events; each stream only stores
// the end of its current item. The group *catches up* when a transfer with another group ends on
// it, and when it may have reached an op that concerns others. For the second case it has one
// event, no later than that op. No other group depends on its state before then. Only the order of
// the work changes, and the consecutive work of a group stays in the cache. The streams get events
// again when a member separates, or when another transfer uses the links of the group's
// collectives.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class LocalClocks : ExecutionPart {
public:
    // The event of the group with leader r has the target kTarget | r.
    static constexpr std::uint32_t kTarget = std::uint32_t{1} << 31;

    using ExecutionPart::ExecutionPart;

    // Call it before anything happens to the group of leader r at `now`.
    void catch_up_before(RankClassId r, Time now) {
        if (state_.ranks[r].local_clock) {
            catch_up(r, now);
            touched_.push_back(r);
        }
    }
    // Call it after all changes of this instant to groups that caught up.
    void plan_wakes();
    // Handles the group's event.
    void wake(RankClassId r, Time now);

    void begin_collective(RankStreamId id, const TapeItem& item, Time now);
    void end_collective(RankStreamId id, Time now);

    // Moves the group from the common clock to its own, if the group qualifies.
    void begin(RankClassId r);
    // Moves the group back to the common clock. It must have caught up to this instant.
    void end(RankClassId r);
    // Ends the local clock of the group that meets on `connection`, because another transfer uses
    // its links.
    void end_on(ConnectionClassId connection, Time now);
    // Ends all local clocks. Until `until` nothing happens but the groups' own work.
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
