// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/step_response.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

TEST(ResponseCurve, IsStraightBetweenItsPoints) {
    ResponseCurve curve;
    EXPECT_EQ(curve.change(3), 0);
    curve.add(0, 1);
    curve.add(1, 2);
    curve.add(2, 4);
    EXPECT_DOUBLE_EQ(curve.change(1), 0);
    EXPECT_DOUBLE_EQ(curve.change(0.5), -0.5);
    EXPECT_DOUBLE_EQ(curve.change(1.5), 1);
    EXPECT_DOUBLE_EQ(curve.change(3), 4);
}

// What the curves say of a step that simulate is asked for with a calibration.
TEST(StepResponse, SaysWhatASimulationWithTheFactsSays) {
    const auto cases =
        read_published_cases(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training_more.csv");
    ASSERT_TRUE(cases);
    const auto row = std::ranges::find(*cases, "TTUNE-3b-base", &PublishedCase::name);
    ASSERT_NE(row, cases->end());
    const Catalogue catalogue{default_catalogue()};
    Scenario scenario = scenario_of(*row, catalogue).value();
    scenario.network = NetworkFidelity::analytic;
    const Answer plain = simulate_scenario(scenario).value();
    const ValidatedCase validated{
        .name = row->name, .measured_s = row->measured_s, .predicted_s = plain.iteration.seconds()};
    const StepResponse response = step_response(*row, validated, catalogue).value();
    EXPECT_DOUBLE_EQ(response.under(Calibration{}), plain.iteration.seconds());
    Calibration facts;
    facts.generation = scenario.device.generation;
    facts.products = 1.2;
    facts.element_wise = 1.4;
    facts.step = Time::seconds(0.1);
    auto table = read_efficiency_table((default_catalogue() / "step_efficiency.csv").string());
    ASSERT_TRUE(table);
    apply_calibration(facts, *table);
    const Answer slower = simulate_scenario(scenario, {.step_table = *table}).value();
    EXPECT_GT(slower.iteration.seconds(), 1.2 * plain.iteration.seconds() + 0.1);
    EXPECT_NEAR(response.under(facts) / slower.iteration.seconds(), 1, 0.01);
}

}  // namespace
}  // namespace orrery
