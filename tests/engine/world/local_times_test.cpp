// SPDX-License-Identifier: Apache-2.0
// What a group does by itself takes no less than the bound, on any device. That nothing else
// changes when groups keep time on their own: tests/engine/world/local_clocks_test.cpp.
#include "engine/world/local_times.h"

#include <gtest/gtest.h>

#include "engine/world/time_alone.h"
#include "network/fluid/fluid.h"
#include "tests/engine/random_program.h"
#include "tests/engine/toy_network.h"

namespace orrery {
namespace {

// Each item on its own, and all from one op that concerns others to the next.
void expect_bounds(const LocalTimes& own,
                   const Tapes& tapes,
                   const LockstepGroups& groups,
                   std::uint32_t role,
                   std::size_t devices,
                   const std::vector<RunTimes>& runs) {
    for (std::uint32_t s = 0; s < tapes.roles[role].streams.size(); ++s) {
        const std::vector<TapeItem>& items = tapes.roles[role].streams[s].items;
        for (std::uint32_t i = 0; i < items.size(); ++i) {
            const bool meets =
                items[i].kind == ItemKind::collective &&
                tapes.roles[role].parts[items[i].first_part].connection == groups.meeting[role];
            EXPECT_EQ(own.next_outside(role, s, i) == i, items[i].kind != ItemKind::run && !meets);
            for (std::uint16_t d = 0; d < devices && items[i].kind == ItemKind::run; ++d) {
                const Time taken = runs[d * tapes.shapes.size() + items[i].shape].duration;
                EXPECT_LE(own.least(role, d, s, i, i + 1), taken);
                if (devices == 1) {
                    EXPECT_EQ(own.least(role, d, s, i, i + 1), taken);
                }
            }
        }
    }
}

TEST(LocalTimes, IsNeverLongerThanWhatATeamTakes) {
    int cases = 0;
    for (std::uint64_t seed = 3001; seed <= 5600; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomCase c = random_case(seed, false);
        c.network.hashed = true;
        if (seed % 2 == 0) {
            c.network.port_bps = 8'000'000'000'000;  // wider than all that a rank moves
            c.network.rate_max_bps = 200'000'000'000;
        }
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        c.input.traced_ranks.clear();
        const Tapes tapes = build_tapes(c.program, c.input.launch_cost);
        Transfers transfers = plan_transfers(c.program, tapes, network);
        time_messages_alone(network, transfers);
        const Partition partition = coarsest_partition(c.input, transfers);
        FluidRates rates{network.links()};
        const Quotient quotient = make_quotient(c.input, transfers, partition, rates);
        const LockstepGroups groups = find_lockstep_groups(c.input, tapes, transfers, quotient);
        const std::vector<RunTimes> runs = time_runs(c.input, tapes);
        const LocalTimes own(c.input, tapes, transfers, quotient, groups, runs);
        for (const LockstepGroupId t : groups.groups.ids()) {
            if (own.possible(t)) {
                const RankClassId first = groups.members_of(groups.groups[t]).front();
                const auto role = static_cast<std::uint32_t>(index(quotient.ranks[first].role));
                expect_bounds(own, tapes, groups, role, c.input.devices.size(), runs);
                cases += groups.groups[t].size > 1 ? 1 : 0;
            }
        }
    }
    EXPECT_GT(cases, 100);
}

}  // namespace
}  // namespace orrery
