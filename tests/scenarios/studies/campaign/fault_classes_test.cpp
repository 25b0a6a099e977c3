// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/fault_classes.h"

#include <gtest/gtest.h>

#include <string>

#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

// 128 servers of eight GPUs and NICs, sets of 32 servers with a leaf switch a rail; 30 days.
std::vector<FaultClass> classes_of(const std::string& faults) {
    const auto scenario =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/recovery-plans.yaml",
                      {.overrides = {"campaign.days=30", "faults=[" + faults + "]"}});
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    return scenario ? fault_classes(*scenario) : std::vector<FaultClass>{};
}

// By hand: components x 30 days / mean time of one.
TEST(FaultClasses, CountTheComponentsOfTheirKind) {
    struct Case {
        const char* fault;
        const char* components;
        double expected;
    };
    for (const Case& c : {
             Case{"kind: gpu_lost, mtbf: 50000 h", "1,024 GPUs", 14.75},
             Case{"kind: gpu_lost, mtbf: 50000 h, at: \"gpu:*\"", "1,024 GPUs", 14.75},
             Case{"kind: gpu_lost, mtbf: 50000 h, at: \"node:*\"", "128 nodes", 1.843},
             Case{"kind: gpu_lost, mtbf: 50000 h, at: \"node:3/gpu:1\"", "node:3/gpu:1", 0.0144},
             Case{"kind: gpu_lost, count: 148, window: 54 d, over: 16384", "1,024 GPUs", 5.139},
             Case{"kind: gpu_lost, count: 9, window: 30 d", "1,024 GPUs", 9},
             Case{"kind: nic_down, mtbf: 87600 h", "1,024 NICs", 8.416},
             Case{"kind: switch_down, mtbf: 100 d", "32 leaf switches", 9.6},
             Case{"kind: switch_down, mtbf: 100 d, at: \"leaf:*\"", "32 leaf switches", 9.6},
             Case{"kind: site_loss, mtbf: 100 d", "site", 0.3},
             Case{"kind: site_loss, mtbf: 100 d, at: \"site:*\"", "site", 0.3},
             Case{"kind: power_loss, mtbf: 100 d", "32 power feeds", 9.6},
             Case{"kind: node_crash, mtbf: 100 d", "128 nodes", 38.4},
             Case{"kind: software_bug, mtbf: 10 d", "job", 3},
         }) {
        const auto classes = classes_of(std::string{"{process: exponential, "} + c.fault + "}");
        ASSERT_EQ(classes.size(), 1u) << c.fault;
        EXPECT_EQ(classes[0].components, c.components) << c.fault;
        EXPECT_NEAR(classes[0].expected, c.expected, 2e-3 * c.expected) << c.fault;
        EXPECT_TRUE(classes[0].stops) << c.fault;
        EXPECT_FALSE(classes[0].from_new);
    }
}

TEST(FaultClasses, SayWhenTheyStrike) {
    const auto classes = classes_of(
        "{process: exponential, kind: gpu_lost, mtbf: 50000 h},"
        "{kind: slow_host, p: 0.05},"
        "{kind: link_flap, at: \"node:2/nic:1\", t: 1 h, every: 20 s, cycles: 5},"
        "{process: weibull, shape: 0.7, kind: node_crash, mtbf: 17520 h}");
    ASSERT_EQ(classes.size(), 4u);
    EXPECT_EQ(classes[0].when, "one every 2.03 d");
    EXPECT_EQ(classes[1].when, "from the start on, p 0.05");
    EXPECT_EQ(classes[1].components, "128 nodes");
    EXPECT_NEAR(classes[1].expected, 6.4, 1e-9);
    EXPECT_FALSE(classes[1].stops);
    EXPECT_EQ(classes[2].when, "after 60.0 min, 5 times");
    EXPECT_NEAR(classes[2].expected, 5, 1e-9);
    EXPECT_TRUE(classes[3].from_new);
    EXPECT_NEAR(classes[3].expected, 16.5, 0.05);
}

// The published classes on the published cluster.
TEST(FaultClasses, OfLlama3AreThePublishedCounts) {
    const auto scenario =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/llama3-405b-54-days.yaml", {});
    ASSERT_TRUE(scenario);
    double stops = 0;
    for (const FaultClass& one : fault_classes(*scenario)) {
        stops += one.stops ? one.expected : 0;
        if (one.name == "Faulty GPU") {
            EXPECT_EQ(one.components, "16,384 GPUs");
            EXPECT_NEAR(one.expected, 148, 1e-6);
        }
    }
    EXPECT_NEAR(stops, 419 - 6, 1e-4);  // silent corruption stops nothing by itself
}

}  // namespace
}  // namespace orrery
