// SPDX-License-Identifier: Apache-2.0
#include "network/packet/simulation.h"

#include <gtest/gtest.h>

#include "tests/network/packet/packet_cases.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

TEST(Simulation, RefusesFlowsThatCannotBe) {
    const Topology two = topology_of(leaf_spine(2, 2, 2, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(two, {});
    EXPECT_FALSE(simulation.add_flow({.source = 0, .destination = 0, .bytes = 1_B}));
    EXPECT_FALSE(simulation.add_flow({.source = 0, .destination = 4, .bytes = 1_B}));
    EXPECT_FALSE(simulation.add_flow({.source = 0, .destination = 1, .bytes = Bytes{-1}}));
    EXPECT_FALSE(simulation.add_flow(
        {.source = 0, .destination = 2, .bytes = 1_B, .path = {two.host_port(0)}}));
    EXPECT_FALSE(simulation.add_flow(
        {.source = 0, .destination = 2, .bytes = 1_B, .path = {two.host_port(1)}}));
    EXPECT_FALSE(simulation.add_flow(
        {.source = 0, .destination = 2, .bytes = Bytes{std::int64_t{1} << 60}}));
    EXPECT_FALSE(Simulation::create(two, {.packet_bytes = 10}));
    EXPECT_EQ(simulation.num_flows(), 0U);
}

TEST(Simulation, AFlowOfNothingEndsAsItStarts) {
    const Topology two = topology_of(leaf_spine(2, 2, 2, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(two, {});
    ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 1, .start = 3_us}));
    simulation.run();
    EXPECT_EQ(simulation.flow(0).end, 3_us);
    EXPECT_EQ(simulation.flow(0).state, FlowState::finished);
}

// A ring of dependent sends: each starts when the one before has ended, as a collective's steps do.
TEST(Simulation, FlowsMayStartWhenOthersEnd) {
    const Topology two = topology_of(leaf_spine(2, 2, 2, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(two, {});
    ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 1, .bytes = 1'000'000_B}));
    std::vector<std::uint32_t> ended;
    Time last;
    for (std::uint32_t i = 1; i < 4; ++i) {
        ASSERT_TRUE(simulation.run_until(Time::max(), ended));
        ASSERT_EQ(ended, std::vector<std::uint32_t>{i - 1});
        EXPECT_GT(simulation.now(), last);
        last = simulation.now();
        ASSERT_TRUE(simulation.add_flow(
            {.source = i, .destination = (i + 1) % 4, .bytes = 1'000'000_B, .start = last}));
    }
    simulation.run();
    EXPECT_EQ(simulation.flow(3).state, FlowState::finished);
    EXPECT_EQ(simulation.flow(3).start, last);
    EXPECT_FALSE(simulation.run_until(Time::max(), ended));
}

TEST(Simulation, RunUntilATimeStopsThere) {
    const Topology two = topology_of(leaf_spine(2, 2, 2, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(two, {});
    ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 1, .bytes = 1'000'000_B}));
    std::vector<std::uint32_t> ended;
    EXPECT_FALSE(simulation.run_until(20_us, ended));
    EXPECT_EQ(simulation.now(), 20_us);
    const std::int64_t received = simulation.flow(0).bytes_received;
    EXPECT_NEAR(static_cast<double>(received), (20 - 2.7) * 12'500 * 4086 / 4150, 4100);
    EXPECT_FALSE(simulation.add_flow(
        {.source = 0, .destination = 1, .bytes = 1_B, .start = 19_us}));  // in the past
}

}  // namespace
}  // namespace orrery::packet
