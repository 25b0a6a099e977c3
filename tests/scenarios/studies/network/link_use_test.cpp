// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/link_use.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "network/fluid/fluid.h"
#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

using namespace literals;

TEST(LinkUse, UtilisationIsBytesOverWhatTheLinkCouldCarry) {
    EXPECT_DOUBLE_EQ(utilisation(8_Gbps, 500'000, 1_ms), 0.5);
    EXPECT_EQ(utilisation(8_Gbps, 500'000, Time{}), 0);
    EXPECT_EQ(utilisation(Bandwidth{}, 0, 1_ms), 0);
}

TEST(LinkUse, ClassesCountAllLinksAndTheBusiestComeFirst) {
    const Fabric fabric = fabric_of(leaf_spine_scenario(2));
    std::vector<std::int64_t> bytes(fabric.links().size(), 0);
    const auto first = index(*fabric.find_link("leaf 0 -> spine 0"));
    const auto second = index(*fabric.find_link("node 1 nic 0 -> leaf 0"));
    bytes[first] = 5'000'000;
    bytes[second] = 10'000'000;
    const auto busiest = busiest_links(fabric, bytes, 5);
    ASSERT_EQ(busiest.size(), 2U);
    EXPECT_EQ(index(busiest[0]), second);
    EXPECT_EQ(busiest_links(fabric, bytes, 1).size(), 1U);
    for (const LinkClassUse& use : use_by_class(fabric, bytes, 1_ms)) {
        if (use.link_class == "leaf-spine") {
            EXPECT_EQ(use.links, 8U);
            EXPECT_EQ(use.used, 1U);
            EXPECT_DOUBLE_EQ(use.max, 0.5);
            EXPECT_DOUBLE_EQ(use.mean, 0.5 / 8);
        }
    }
}

TEST(LinkUse, HeatNamesTheLinkOfEachCell) {
    const Fabric fabric = fabric_of(leaf_spine_scenario(2));
    std::vector<std::int64_t> bytes(fabric.links().size(), 0);
    bytes[index(*fabric.find_link("leaf 0 -> spine 0"))] = 5'000'000;
    const std::vector<LinkHeat> all = heat_by_class(fabric, bytes, 1_ms, 100);
    ASSERT_EQ(all.size(), 1U);
    ASSERT_EQ(all[0].links.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_DOUBLE_EQ(all[0].utilisation[i], all[0].links[i] == "leaf 0 -> spine 0" ? 0.5 : 0);
    }
    // Of three neighbours the busiest one is the cell.
    const std::vector<LinkHeat> coarse = heat_by_class(fabric, bytes, 1_ms, 3);
    ASSERT_EQ(coarse[0].utilisation.size(), 3U);
    const auto hot = std::ranges::find(coarse[0].links, "leaf 0 -> spine 0");
    ASSERT_NE(hot, coarse[0].links.end());
    EXPECT_DOUBLE_EQ(coarse[0].utilisation[static_cast<std::size_t>(hot - coarse[0].links.begin())],
                     0.5);
    EXPECT_TRUE(heat_by_class(fabric, std::vector<std::int64_t>(bytes.size()), 1_ms, 3).empty());
    EXPECT_EQ(heat_by_class(fabric, bytes, 1_ms, 0)[0].links.size(), 1U);
}

TEST(LinkUse, LinksBetweenMemoryTiersCountWhereSomethingIsCopied) {
    Scenario scenario = leaf_spine_scenario(2);
    scenario.cluster.node.host_memory = 1_GiB;
    const Fabric fabric = fabric_of(scenario);
    std::vector<std::int64_t> bytes(fabric.links().size(), 0);
    const auto classes = [&] { return use_by_class(fabric, bytes, 1_ms); };
    EXPECT_EQ(classes().back().link_class, "leaf-spine");
    bytes[index(*fabric.find_link("node 1 socket 0 -> node 1 memory 0"))] = 1;
    EXPECT_EQ(classes().back().link_class, "host memory");
    EXPECT_EQ(classes().back().links, 4U);
}

TEST(LinkUse, CountersFollowTheRates) {
    const Fabric fabric = fabric_of(leaf_spine_scenario(2));
    const LinkId link = *fabric.find_link("node 0 nic 0 -> leaf 0");
    FluidRates rates(fabric.links());
    FlowRunner runner(fabric.links(), rates, {.keep_spans = true});
    runner.run({{.bytes = Bytes(1'000'000), .rate_max = 20_Gbps},
                {.start = 100_us, .bytes = Bytes(250'000), .rate_max = 20_Gbps}},
               [&](std::size_t, const LinkState&, FlowPath& path) {
                   path.footprint = {{link, 1}};
                   return true;
               });
    const std::vector<LinkId> links = {link};
    const auto counters = link_counters(fabric, runner, links);
    ASSERT_EQ(counters.size(), 1U);
    const std::vector<std::pair<Time, double>> expected = {
        {Time{}, 25}, {100_us, 50}, {200_us, 25}, {400_us, 0}};
    EXPECT_EQ(counters[0].values, expected);
}

}  // namespace
}  // namespace orrery
