// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/train/training_run.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(TrainingRun, TheNumberOfRanksMustBeThatOfTheCluster) {
    const Scenario scenario = small_scenario("s", {});
    const auto ranks = static_cast<std::uint32_t>(scenario.cluster.num_ranks());
    EXPECT_TRUE(check_ranks(scenario, ranks));
    const Result<void> fewer = check_ranks(scenario, ranks + 1);
    ASSERT_FALSE(fewer);
    EXPECT_NE(fewer.error().what.find("processes train"), std::string::npos);
}

TEST(TrainingRun, AnUnknownDeviceIsAnError) {
    Scenario scenario = small_scenario("s", {});
    const Result<std::string> chosen = choose_device(scenario, "tpu");
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().where, "--device");
}

TEST(TrainingRun, SaysWhenNothingIsLeftToTrain) {
    EXPECT_EQ(resumed_line(4, 9), "resumed after step 4");
    EXPECT_NE(resumed_line(9, 9).find("nothing is left to train"), std::string::npos);
}

TEST(TrainingRun, ErrorsOfTheDataStandAtTheKey) {
    Scenario scenario = small_scenario("s", {});
    scenario.job.dataset_where = "s.yaml:9:3";
    EXPECT_EQ(in_scenario({"job.dataset", "is short", ""}, scenario).where, "s.yaml:9:3");
    EXPECT_EQ(in_scenario({"elsewhere", "is short", ""}, scenario).where, "elsewhere");
}

}  // namespace
}  // namespace orrery
