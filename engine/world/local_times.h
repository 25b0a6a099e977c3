// SPDX-License-Identifier: Apache-2.0
// How long a lockstep group that is together goes on without another group. Between two ops that
// concern others (a message to another stage, a reduction over other nodes) a group only computes
// and meets on its own connection, where nothing slows a collective down. No other group asks for
// that work, so it may be done later, in one go (engine/world/local_clocks.h). This is the bound:
// for each stream, how long its items take at least up to the next one that concerns others.
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
    // `runs` as time_runs() gives them.
    LocalTimes(const SimulationInput& input,
               const Tapes& tapes,
               const Transfers& transfers,
               const Quotient& quotient,
               const LockstepGroups& groups,
               const std::vector<RunTimes>& runs);

    // Do the collectives on the group's connection always take the same while they are alone?
    bool possible(LockstepGroupId group) const { return possible_[index(group)]; }
    bool is_group_collective(std::uint32_t role, const TapeItem& item) const {
        return item.kind == ItemKind::collective &&
               tapes_.roles[role].parts[item.first_part].connection == groups_.meeting[role];
    }
    // The first item from `item` on that concerns others, or the end of the stream.
    std::uint32_t next_outside(std::uint32_t role, std::uint32_t stream, std::uint32_t item) const {
        return spans_[role][stream][item].next_outside;
    }
    // What the items [from, to), none of which concern others, take at least.
    Time least(std::uint32_t role,
               std::uint16_t device,
               std::uint32_t stream,
               std::uint32_t from,
               std::uint32_t to) const;

private:
    struct Place {
        Time runs;      // of all items before, on the fastest device
        Time meetings;  // the same
        std::uint32_t next_outside = 0;
    };
    void find_paces(const SimulationInput& input, const std::vector<RunTimes>& runs);
    void find_spans(std::uint32_t role, const std::vector<Time>& meetings);

    const Tapes& tapes_;
    const LockstepGroups& groups_;
    std::vector<bool> possible_;                          // by LockstepGroupId
    std::vector<Time> fastest_;                           // by shape
    std::vector<std::int64_t> paces_;                     // by device: at least so much slower
    std::vector<std::vector<std::vector<Place>>> spans_;  // by role, stream, item and the end
};

}  // namespace orrery
