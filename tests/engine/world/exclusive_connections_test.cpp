// SPDX-License-Identifier: Apache-2.0
#include "engine/world/exclusive_connections.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/world/time_alone.h"
#include "network/fluid/fluid.h"
#include "tests/engine/random_program.h"

namespace orrery {
namespace {

// Over links of capacity 100: connection 0 used `uses[0]` times over links {0, 1}, connection 1
// over {1}, connection 2 over {2}.
class ThreeConnections {
public:
    explicit ThreeConnections(std::array<std::uint32_t, 3> uses) {
        for (std::uint32_t c = 0; c < 3; ++c) {
            transfers_.connections.push_back({.first_message = c, .num_messages = 1});
            transfers_.messages.push_back({.first_phase = c,
                                           .num_phases = 1,
                                           .uses = uses[c],
                                           .uncontended_time = Time::picoseconds(5)});
            transfers_.phases.push_back({.first_part = c, .num_parts = 1});
            transfers_.parts.push_back(
                {.bytes = Bytes{1}, .rate_max = Bandwidth::bits_per_second(50)});
            quotient_.connections.push_back({.connection = ConnectionId{c}});
        }
        parts_.footprint_of_part = {0, 1, 2};
        parts_.footprints = {{on(0), on(1)}, {on(1)}, {on(2)}};
    }

    Quotient find() {
        const std::vector<LinkInfo> links(3, {.capacity = Bandwidth::bits_per_second(100)});
        find_exclusive_connections(transfers_, links, parts_, quotient_);
        return quotient_;
    }

    static LinkShare on(std::uint32_t link, std::uint32_t count = 1) {
        return {.link = LinkId{link}, .count = count};
    }

    Transfers transfers_;
    PartFootprints parts_;
    Quotient quotient_;
};

std::vector<bool> mostly_exclusive(const Quotient& quotient) {
    std::vector<bool> all;
    for (const ConnectionClass& connection : quotient.connections) {
        all.push_back(connection.mostly_exclusive);
    }
    return all;
}

std::vector<std::uint32_t> disturbed_by(const Quotient& quotient, std::uint32_t number) {
    const ConnectionClass& connection = quotient.connections[ConnectionClassId{number}];
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < connection.num_neighbours; ++i) {
        const ConnectionClassId c = quotient.neighbours[connection.first_neighbour + i];
        all.push_back(static_cast<std::uint32_t>(c));
    }
    return all;
}

TEST(ExclusiveConnections, HaveTheirLinksToThemselvesAtLeastEveryOtherTime) {
    const Quotient quotient = ThreeConnections({7, 6, 1}).find();
    EXPECT_EQ(mostly_exclusive(quotient), (std::vector{true, false, true}));
    EXPECT_EQ(disturbed_by(quotient, 0), (std::vector{0u}));
    EXPECT_EQ(disturbed_by(quotient, 1), (std::vector{0u}));
    EXPECT_EQ(disturbed_by(quotient, 2), (std::vector{2u}));
}

TEST(ExclusiveConnections, HaveSimpleTransfers) {
    ThreeConnections fixed({7, 6, 1});
    fixed.transfers_.messages[0].uncontended = true;
    EXPECT_EQ(mostly_exclusive(fixed.find()), (std::vector{false, true, true}));
    ThreeConnections folded({7, 6, 1});
    folded.parts_.footprints[0][1].count = 3;  // 3 * 50 > 100
    EXPECT_EQ(mostly_exclusive(folded.find()), (std::vector{false, false, true}));
    ThreeConnections phases({7, 6, 1});
    phases.transfers_.messages[2].num_phases = 2;
    phases.transfers_.phases.push_back({.first_part = 2, .num_parts = 1});
    EXPECT_EQ(mostly_exclusive(phases.find()), (std::vector{true, false, false}));
}

// Or the comparison with the reference would say nothing about them.
TEST(ExclusiveConnections, AreCommonInRandomPrograms) {
    int shared = 0;
    for (std::uint64_t seed = 1001; seed <= 1400; ++seed) {
        RandomCase c = random_case(seed, false);
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        const Tapes tapes = build_tapes(c.program, c.input.launch_cost);
        Transfers transfers = plan_transfers(c.program, tapes, network);
        time_messages_alone(network, transfers);
        FluidRates rates{network.links()};
        const Quotient quotient =
            make_quotient(c.input, transfers, coarsest_partition(c.input, transfers), rates);
        const auto all = mostly_exclusive(quotient);
        const auto lone = static_cast<std::size_t>(std::count(all.begin(), all.end(), true));
        shared += quotient.neighbours.size() > lone ? 1 : 0;
    }
    EXPECT_GT(shared, 10);
}

}  // namespace
}  // namespace orrery
