// SPDX-License-Identifier: Apache-2.0
// Accelerations::lockstep_groups: runs lockstep groups (engine/world/lockstep_groups.h). While a
// group is together, its first member, the *leader*, has the only state and the only events. Each
// member still has its own connections and transfers. At an instant, the ends of the members' parts
// are counted. If all members end with equal paths, the leader continues for all. If not, the group
// *separates* before time moves on: the members whose parts ended continue with a copy of the
// leader's state. Members *reunite* after a collective of the group if all state that can still
// matter is equal. The result is exact, because the order of ends at one instant does not matter
// (rule 7 of engine/world/simulation.h).
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class Lockstep : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // Starts with all groups together.
    void form_all();
    // Ends a part of one member.
    void end_part(RankStreamId id, OpenTransferId t, Time now);
    // Call it before time moves on. Separates groups in which only some members' parts ended. True
    // if there were any.
    bool separate_different(Time now);
    // Asks reunite() to compare the members of a group at this instant.
    void consider_reunion(LockstepGroupId group) { meetings_.push_back(group); }
    void reunite(Time now);
    // Separates all groups, so that every rank class has its own state with its results.
    void dissolve();

private:
    // The end of a part of one member; the other members' parts may still be in flight.
    struct SingleEnd {
        RankStreamId stream{};  // of the member
        OpenTransferId transfer{};
        std::uint32_t item = 0;
    };

    void separate(RankClassId leader, std::uint64_t leaving);
    void separate_all(RankClassId leader);
    void copy_state(RankClassId from, RankClassId to);
    void count_sizes(RankClassId leader);
    void unite(RankClassId leader, RankClassId joining);
    bool alike(RankClassId a, RankClassId b, Time now) const;
    bool same_steps(RankClassId a, RankClassId b, Time now) const;
    bool walk_alike(RankStreamId a, RankStreamId b) const;

    std::vector<SingleEnd> single_ends_;
    std::vector<LockstepGroupId> meetings_;  // groups to be compared by reunite()
};

}  // namespace orrery
