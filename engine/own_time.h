// SPDX-License-Identifier: Apache-2.0
// How long a team that is together (engine/teams.h) goes on without another team. Between two ops
// that concern others (a message to another stage, a reduction over other nodes) a team only
// computes and meets on its own channel, where nothing slows a collective down. No other team asks
// for that work, so it may be done later, in one go (engine/execution_own_time.cpp). This is the
// bound: of each stream, how long its items take at least up to the next one that concerns others.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/folding.h"
#include "engine/kernel_runs.h"
#include "engine/role_tape.h"
#include "engine/teams.h"

namespace orrery {

class OwnTime {
public:
    // `runs` as time_runs() gives them.
    OwnTime(const SimulationInput& input,
            const Tapes& tapes,
            const Transfers& transfers,
            const Quotient& quotient,
            const Teams& teams,
            const std::vector<RunTimes>& runs);

    // Do the collectives on the team's channel always take the same while they are alone?
    bool possible(std::uint32_t team) const { return possible_[team]; }
    bool is_meeting(std::uint32_t role, const TapeItem& item) const {
        return item.kind == ItemKind::collective &&
               tapes_.roles[role].parts[item.first_part].channel == teams_.meeting[role];
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
    const Teams& teams_;
    std::vector<bool> possible_;                          // by team
    std::vector<Time> fastest_;                           // by shape
    std::vector<std::int64_t> paces_;                     // by device: at least so much slower
    std::vector<std::vector<std::vector<Place>>> spans_;  // by role, stream, item and the end
};

}  // namespace orrery
