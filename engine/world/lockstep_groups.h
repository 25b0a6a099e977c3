// SPDX-License-Identifier: Apache-2.0
// Lockstep groups: rank classes that do the same until an event concerns only one of them. The
// members of a tensor-parallel group start every step with the same ops of equal duration, and wait
// for each other dozens of times a layer. Their messages to other nodes, however, meet different
// traffic. Folding (engine/world/folding.h) needs ranks that are *always* alike, and so keeps the
// members apart. The execution keeps one state and one event for all members while they are
// together; engine/world/lockstep.h separates and reunites them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/role_tape.h"
#include "engine/world/folding.h"
#include "engine/world/simulation.h"
#include "engine/world/transfers.h"

namespace orrery {

inline constexpr ConnectionClassId kNoMeeting{UINT32_MAX};

struct LockstepGroup {
    std::uint32_t first = 0;  // index into LockstepGroups::members
    std::uint32_t size = 0;
    // The connection of the group's collectives, whose members are exactly the group's; kNoMeeting:
    // none.
    ConnectionClassId connection{};
};

struct LockstepGroups {
    Table<LockstepGroupId, LockstepGroup> groups;  // a group of one never has followers
    std::vector<RankClassId> members;  // all rank classes, group by group, ascending in each
    Table<RankClassId, LockstepGroupId> group_of;  // by rank class
    Table<RankClassId, std::uint32_t> place;       // by rank class: its position in the group
    // By role: the group's connection in its tape, or UINT32_MAX
    std::vector<std::uint32_t> meeting;

    std::span<const RankClassId> members_of(const LockstepGroup& group) const {
        return {members.data() + group.first, group.size};
    }
};

// The limit is the number of bits of a mask of members.
inline constexpr std::uint32_t kLockstepGroupMax = 64;

// The members of a group have equal role, device and SMs of each message. Traced ranks are never
// members.
LockstepGroups find_lockstep_groups(const SimulationInput& input,
                                    const Tapes& tapes,
                                    const Transfers& transfers,
                                    const Quotient& quotient);

}  // namespace orrery
