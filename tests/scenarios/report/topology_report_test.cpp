// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/topology_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

using namespace literals;

Topology small() {
    return {
        .name = "small",
        .node = "dgx-h100",
        .fabric = "clos",
        .nodes = 2,
        .gpus = 16,
        .ranks = 16,
        .switches = {{"leaf", 2}, {"spine", 1}},
        .cables = {{.name = "nic",
                    .cables = 16,
                    .slowest = 80_Gbps,
                    .fastest = 160_Gbps,
                    .total = 1920_Gbps,
                    .latency = 1_us},
                   {.name = "leaf-spine",
                    .cables = 4,
                    .slowest = 160_Gbps,
                    .fastest = 160_Gbps,
                    .total = 640_Gbps,
                    .latency = 2_us,
                    .oversubscription = 3}},
        .axes = {{.name = "tp", .ranks = 8, .groups = 2},
                 {.name = "dp", .ranks = 2, .groups = 8, .nodes = 2, .farthest = Distance::pod}},
        .path = RankPath{.from = 0,
                         .to = 9,
                         .hops = {{"node 0 nic 0 -> leaf 0", "nic", 80_Gbps, 1_us}},
                         .latency = 1_us,
                         .equal_paths = 4}};
}

TEST(TopologyReport, TiersGroupsAndTheWay) {
    expect_golden("topology", to_text(topology_sections(small())));
    Topology wide = small();
    wide.cables[1].oversubscription = 0.25;
    EXPECT_NE(to_text(topology_sections(wide)).find("1 : 4"), std::string::npos);
}

TEST(TopologyReport, JsonHasBytesASecond) {
    const auto json = nlohmann::json::parse(topology_json(small()));
    EXPECT_EQ(json["links"][0]["slowest_bytes_per_s"], 1e10);
    EXPECT_TRUE(json["links"][0]["oversubscription"].is_null());
    EXPECT_EQ(json["groups"][1]["farthest"], "pod");
    EXPECT_EQ(json["path"]["equal_paths"], 4);
    Topology without = small();
    without.path.reset();
    EXPECT_TRUE(nlohmann::json::parse(topology_json(without))["path"].is_null());
}

}  // namespace
}  // namespace orrery
