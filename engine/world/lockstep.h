// SPDX-License-Identifier: Apache-2.0
// Accelerations::lockstep_groups. Runs lockstep groups (engine/world/lockstep_groups.h). While a
// group is together its first member, the *leader*, has the only state and the only events; each
// member still has its own connections and transfers. Ends of the members' parts are counted within
// the instant: if all of them come, and with equal paths, the leader goes on for all. If not, the
// group *separates* before time moves on: the members whose part ended go on with a copy of the
// leader's state. Members *reunite* after a collective on which the group met, once nothing that
// can still matter differs. Nothing is approximated: in an instant no order of ends matters (rule 7
// of engine/world/simulation.h).
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class Lockstep : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // All groups are together at first.
    void form_all();
    // Ends a part of one member's.
    void end_part(RankStreamId id, OpenTransferId t, Time now);
    // Before time moves on: ends that not all members of a group have had. True if there were any.
    bool separate_different(Time now);
    // Its members may have become alike at this instant.
    void consider_reunion(LockstepGroupId group) { meetings_.push_back(group); }
    void reunite(Time now);
    // Every rank class has its own state, which holds its results.
    void dissolve();

private:
    // A part of a member ended, and perhaps not those of all members.
    struct SingleEnd {
        RankStreamId stream{};  // the member's
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
    std::vector<LockstepGroupId> meetings_;  // groups with events that have just met
};

}  // namespace orrery
