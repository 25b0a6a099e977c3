// SPDX-License-Identifier: Apache-2.0
// A lower bound on the time that a lockstep group works without other groups. Between two ops that
// concern others (a message to another stage, a reduction over other nodes) a group only computes
// and meets on its own connection, where no other transfer slows a collective down. No other group
// depends on this work, so that it may be simulated later in one go (engine/world/local_clocks.h).
// The bound is the least time of each stream's items up to the next one that concerns others.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/role_tape.h"
#include "engine/world/folding.h"
#include "engine/world/kernel_runs.h"
#include "engine/world/lockstep_groups.h"

namespace orrery {

class LocalTimes {
public:
    // `runs` is the result of time_runs().
    LocalTimes(const SimulationInput& input,
               const Tapes& tapes,
               const Transfers& transfers,
               const Quotient& quotient,
               const LockstepGroups& groups,
               const std::vector<RunTimes>& runs);

    // Whether every collective on the group's connection has a fixed duration while it is alone.
    bool possible(LockstepGroupId group) const { return possible_[index(group)]; }
    bool is_group_collective(std::uint32_t role, const TapeItem& item) const {
        return item.kind == ItemKind::collective &&
               tapes_.roles[role].parts[item.first_part].connection == groups_.meeting[role];
    }
    // The first item, from `item` on, that concerns other groups, or the end of the stream.
    std::uint32_t next_outside(std::uint32_t role, std::uint32_t stream, std::uint32_t item) const {
        return spans_[role][stream][item].next_outside;
    }
    // The least duration of the items [from, to), none of which may concern others.
    Time least(std::uint32_t role,
               std::uint16_t device,
               std::uint32_t stream,
               std::uint32_t from,
               std::uint32_t to) const;

private:
    struct Place {
        Time runs;      // sum over all items before, on the fastest device
        Time meetings;  // sum over all meetings before
        std::uint32_t next_outside = 0;
    };
    void find_paces(const SimulationInput& input, const std::vector<RunTimes>& runs);
    void find_spans(std::uint32_t role, const std::vector<Time>& meetings);

    const Tapes& tapes_;
    const LockstepGroups& groups_;
    std::vector<bool> possible_;       // by LockstepGroupId
    std::vector<Time> fastest_;        // by shape
    std::vector<std::int64_t> paces_;  // by device: a lower bound on its slow-down
    std::vector<std::vector<std::vector<Place>>> spans_;  // by role, stream, item and the end
};

}  // namespace orrery
