// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/topology.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

using namespace literals;

Topology topology(const Scenario& scenario,
                  std::optional<std::pair<std::uint32_t, std::uint32_t>> between = {}) {
    const Result<Topology> found = topology_of(scenario, between);
    EXPECT_TRUE(found) << found.error().to_string();
    return found.value_or(Topology{});
}

const CableTier& tier(const Topology& of, const std::string& name) {
    return *std::ranges::find(of.cables, name, &CableTier::name);
}

TEST(Topology, SwitchesAndCablesAreCountedWhateverTheRouting) {
    Scenario scenario = leaf_spine_scenario(4);
    const Topology plain = topology(scenario);
    EXPECT_EQ(plain.switches, (std::vector<SwitchTier>{{"leaf", 2}, {"spine", 4}}));
    EXPECT_EQ(tier(plain, "nic").cables, 8U);
    EXPECT_EQ(tier(plain, "nic").total, 640_Gbps);
    EXPECT_EQ(tier(plain, "leaf-spine").cables, 8U);
    EXPECT_EQ(tier(plain, "leaf-spine").oversubscription, 1);
    scenario.cluster.fabric.routing = RoutingKind::spray;
    EXPECT_EQ(topology(scenario).switches, plain.switches);
    EXPECT_EQ(tier(topology(scenario), "leaf-spine").cables, 8U);
    scenario.cluster.fabric.oversubscription = 4;
    EXPECT_EQ(tier(topology(scenario), "leaf-spine").oversubscription, 4);
    EXPECT_EQ(tier(topology(scenario), "leaf-spine").total, 160_Gbps);
}

TEST(Topology, ASingleNodeHasNoSwitches) {
    Scenario scenario = leaf_spine_scenario(1);
    scenario.cluster.num_nodes = 1;
    scenario.cluster.node.gpus_per_node = 2;
    const Topology one = topology(scenario, {{0, 1}});
    EXPECT_TRUE(one.switches.empty());
    ASSERT_EQ(one.cables.size(), 1U);
    EXPECT_EQ(one.cables[0].name, "pcie");
    EXPECT_EQ(one.path->equal_paths, 0U);
    EXPECT_EQ(one.path->hops.size(), 2U);
}

TEST(Topology, TheWayHasTheLinksAndTheNumberOfEqualPaths) {
    const Scenario scenario = leaf_spine_scenario(4);
    const Topology far = topology(scenario, {{0, 7}});
    ASSERT_EQ(far.path->hops.size(), 6U);
    EXPECT_EQ(far.path->equal_paths, 4U);
    EXPECT_EQ(far.path->hops[1].link, "node 0 nic 0 -> leaf 0");
    EXPECT_EQ(far.path->hops[2].link_class, "leaf-spine");
    Time sum;
    for (const Hop& hop : far.path->hops) {
        sum += hop.latency;
    }
    EXPECT_EQ(sum, far.path->latency);
    EXPECT_EQ(topology(scenario, {{0, 3}}).path->equal_paths, 1U);
    EXPECT_TRUE(topology(scenario, {{2, 2}}).path->hops.empty());
    EXPECT_EQ(topology_of(scenario, {{0, 8}}).error().hint, "0 to 7");
}

TEST(Topology, GroupsOfAPlanAreAsFarAsItsMeshPlacesThem) {
    const auto scenario = read_scenario_text(
        "cluster: {nodes: 8, node: dgx-h100, fabric: {base: eth400-clos, nodes_per_leaf_set: 2, "
        "leaf_sets_per_pod: 2}}\n"
        "model: {num_layers: 4, hidden_size: 1024, num_attention_heads: 8, seq_length: 512, "
        "vocab_size: 1024}\n"
        "plan: {tensor_model_parallel_size: 8, pipeline_model_parallel_size: 2, "
        "micro_batch_size: 1, global_batch_size: 8}\n",
        "s.yaml",
        ".");
    ASSERT_TRUE(scenario) << scenario.error()[0].to_string();
    const Topology placed = topology(*scenario);
    ASSERT_EQ(placed.axes.size(), 3U);
    const auto expect = [](const PlacedAxis& axis,
                           const char* name,
                           std::uint32_t ranks,
                           std::uint32_t groups,
                           std::uint32_t nodes,
                           Distance farthest) {
        EXPECT_EQ(axis.name, name);
        EXPECT_EQ(axis.ranks, ranks) << name;
        EXPECT_EQ(axis.groups, groups) << name;
        EXPECT_EQ(axis.nodes, nodes) << name;
        EXPECT_EQ(axis.farthest, farthest) << name;
    };
    expect(placed.axes[0], "tp", 8, 8, 1, Distance::node);
    expect(placed.axes[1], "dp", 4, 16, 4, Distance::pod);      // nodes 0 to 3: two sets, one pod
    expect(placed.axes[2], "pp", 2, 32, 2, Distance::cluster);  // nodes 0 and 4: two pods
}

}  // namespace
}  // namespace orrery
