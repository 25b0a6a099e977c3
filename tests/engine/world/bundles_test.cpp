// SPDX-License-Identifier: Apache-2.0
#include "engine/world/bundles.h"

#include <gtest/gtest.h>

#include "tests/engine/groups_change_nothing.h"
#include "tests/reference/program_builder.h"

namespace orrery {
namespace {

// Two stages of eight ranks that meet all the time; the first sends to the second.
RandomCase two_stages() {
    RandomCase c;
    Program& p = c.program;
    p.parties.front().mesh = Mesh({{"tp", 8}, {"pp", 2}});
    p.parties.front().role_digit = 1;
    p.names = {"op"};
    p.groups = {{"tp", 1u, 0, {}, {}}};
    p.collectives = {
        {.kind = CollectiveKind::all_reduce, .group = GroupId{0}, .bytes = Bytes{1'000'000}}};
    p.send_recvs = {{{SendRecvPart{true, 1, 1, -1, Bytes{2'000'000}, 0}}},
                    {{SendRecvPart{false, 1, -1, -1, Bytes{2'000'000}, 0}}}};
    for (std::uint32_t r = 0; r < 2; ++r) {
        p.roles.push_back({"stage", {}});
        p.segments.push_back({"segment", {}});
        p.roles.back().slots.push_back(Slot{.segment = to_id<SegmentId>(r), .waits = {}});
        for (const OpKind kind :
             {OpKind::collective, OpKind::collective, OpKind::send_recv, OpKind::collective}) {
            const Op op{.payload = {kind, kind == OpKind::send_recv ? r : 0}};
            reference::append_op(p, to_id<SegmentId>(r), op, {});
        }
    }
    c.network = {.num_ranks = 16,
                 .ranks_per_node = 8,
                 .uplinks = 3,  // of which one has fewer messages than the others
                 .hashed = true,
                 .port_bps = 8'000'000'000'000,
                 .rate_max_bps = 200'000'000'000};
    c.input.devices = {{}};
    c.input.steps = 1;
    return c;
}

TEST(Bundles, MessagesOfATeamToAnotherAreOne) {
    RandomCase c = two_stages();
    const ToyNetwork network(c.network);
    c.input.program = &c.program;
    c.input.network = &network;
    c.input.accelerations.fold(true);
    // Collectives of the toy network cross the ports of the sends, which would take turns.
    c.input.accelerations.exclusive_connections = false;
    const FoundGroups found = groups_and_bundles_of(c.input);
    ASSERT_EQ(found.groups.groups.size(), 2u);
    ASSERT_EQ(found.bundles.bundles.size(), 1u);
    EXPECT_GE(found.bundles.bundles[0].size, 2u);
    EXPECT_EQ(found.bundles.bundles[0].size, found.groups.groups.front().size);
    const SimulationResult together = run_fluid(c.input);
    c.input.accelerations.fold(false);
    expect_equal(together, run_fluid(c.input));
}

// What the random programs of the tests of groups are about.
TEST(Bundles, AreInManyRandomPrograms) {
    int cases = 0;
    for (std::uint64_t seed = 3001; seed <= 3500; ++seed) {
        RandomCase c = random_case(seed, false);
        c.network.hashed = true;
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        c.input.traced_ranks.clear();
        cases += groups_and_bundles_of(c.input).bundles.bundles.empty() ? 0 : 1;
    }
    EXPECT_GT(cases, 5);
}

}  // namespace
}  // namespace orrery
