// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diff/scenario_diff.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

const std::string kTwoGpus = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";

TEST(ScenarioDiff, NamesTheKeyThatChangedAndBothSteps) {
    const auto before = read_scenario(kTwoGpus);
    const auto after = read_scenario(kTwoGpus, {.overrides = {"plan.micro_batch_size=2"}});
    ASSERT_TRUE(before && after);
    ScenarioDiff diff = diff_of_scenarios(*before, *after);
    ASSERT_EQ(diff.keys.size(), 1u);
    EXPECT_EQ(diff.keys.front().key, "plan.micro_batch_size");
    ASSERT_TRUE(add_steps(diff, *before, *after, [](double) {}));
    ASSERT_EQ(diff.steps.size(), 2u);
    EXPECT_NE(diff.steps[0].iteration, diff.steps[1].iteration);
}

TEST(ScenarioDiff, OfResultsHasTheirFiguresWithoutHowTheyWereMade) {
    const auto before = parse_json(R"({"step_s": 2, "wall_s": 1, "provenance": {}})", "a");
    const auto after = parse_json(R"({"step_s": 3, "wall_s": 9, "provenance": {}})", "b");
    ASSERT_TRUE(before && after);
    EXPECT_TRUE(is_result(*before));
    const ScenarioDiff diff = diff_of_results(*before, *after);
    ASSERT_EQ(diff.figures.size(), 1u);
    EXPECT_EQ(diff.figures.front().key, "step_s");
    EXPECT_FALSE(is_result(*parse_json(R"({"step_s": 2})", "c")));
}

TEST(ScenarioDiff, ANetworkAloneHasNoStep) {
    const auto network =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/network-clos-64.yaml", {.network_only = true});
    ASSERT_TRUE(network);
    ScenarioDiff diff;
    const auto added = add_steps(diff, *network, *network, [](double) {});
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().where, "--run");
}

}  // namespace
}  // namespace orrery
