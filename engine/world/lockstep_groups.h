// SPDX-License-Identifier: Apache-2.0
// Lockstep groups: rank classes that do the same until something happens to one of them alone. The
// members of a tensor-parallel group start every step with the same ops, take the same time for
// them and wait for each other dozens of times a layer. Their messages to other nodes meet
// different traffic on the way. Folding (engine/world/folding.h) looks for ranks that *always* do
// the same, so it keeps the members apart. The execution keeps one state and one event for all
// members while they are together; engine/world/lockstep.h separates and reunites them.
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
    std::uint32_t first = 0;  // LockstepGroups::members
    std::uint32_t size = 0;
    // The connection on whose collectives exactly the members meet, or kNoMeeting.
    ConnectionClassId connection{};
};

struct LockstepGroups {
    Table<LockstepGroupId, LockstepGroup> groups;  // of one: on its own for good
    std::vector<RankClassId> members;  // all rank classes, group by group, ascending in each
    Table<RankClassId, LockstepGroupId> group_of;  // by rank class
    Table<RankClassId, std::uint32_t> place;       // by rank class: its position in the group
    std::vector<std::uint32_t> meeting;  // by role: the connection of its tape, or UINT32_MAX

    std::span<const RankClassId> members_of(const LockstepGroup& group) const {
        return {members.data() + group.first, group.size};
    }
};

// The masks of members that the execution keeps have as many bits.
inline constexpr std::uint32_t kLockstepGroupMax = 64;

// The members of a group share role, device and the SMs that each message holds. None is traced.
LockstepGroups find_lockstep_groups(const SimulationInput& input,
                                    const Tapes& tapes,
                                    const Transfers& transfers,
                                    const Quotient& quotient);

}  // namespace orrery
