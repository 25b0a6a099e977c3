// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/any_scenario.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const std::string kScenarios = ORRERY_SOURCE_DIR "/scenarios/";

TEST(AnyScenario, IsOfAStepOfJobsOrOfANetworkAlone) {
    const auto step = read_any_scenario(kScenarios + "laptop-2gpu.yaml", {});
    ASSERT_TRUE(step);
    EXPECT_FALSE(is_network_alone(*step));
    const auto jobs = read_any_scenario(kScenarios + "two-jobs.yaml", {});
    ASSERT_TRUE(jobs);
    EXPECT_FALSE(is_network_alone(*jobs));
    EXPECT_FALSE(jobs->jobs.empty());
    const auto network = read_any_scenario(kScenarios + "network-clos-64.yaml", {});
    ASSERT_TRUE(network);
    EXPECT_TRUE(is_network_alone(*network));
    EXPECT_FALSE(read_any_scenario(kScenarios + "none.yaml", {}));
}

TEST(AnyScenario, OfAServedLoadIsOfNoOtherKind) {
    EXPECT_TRUE(read_served_load(kScenarios + "serve-tiny-cpu.yaml", {}));
    const auto step = read_served_load(kScenarios + "laptop-2gpu.yaml", {});
    ASSERT_FALSE(step);
    EXPECT_NE(step.error().front().to_string().find("a served load is due"), std::string::npos)
        << step.error().front().to_string();
}

}  // namespace
}  // namespace orrery
