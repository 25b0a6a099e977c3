// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/control.h"

#include <gtest/gtest.h>

#include "models/plan/flops.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/validation.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

MeasuredScenario measured(const Scenario& scenario, const std::string& family, double mfu) {
    const ModelFlops flops = model_flops(scenario.model, scenario.plan);
    const double peak = scenario.device.peak(scenario.plan.precision).per_second();
    return {scenario,
            family,
            flops.full_attention.count() / (peak * scenario.cluster.num_gpus() * mfu)};
}

TEST(Control, FindsTheMfuThatAllRowsShare) {
    const Scenario dp = small_scenario("dp", {});
    const Scenario tp = small_scenario("tp", {"plan.tensor_model_parallel_size=4"});
    const Scenario larger = small_scenario("larger", {"plan.global_batch_size=64"});
    const Control control{{measured(dp, "a", 0.43), measured(tp, "b", 0.43)}};
    EXPECT_EQ(control.constants(), (std::map<std::string, double>{{"ampere bf16", 0.43}}));
    EXPECT_NEAR(control.predicted_s(larger), measured(larger, "", 0.43).measured_s, 1e-12);
    EXPECT_NEAR(control.predicted_s(larger), 2 * control.predicted_s(dp), 1e-12);
}

TEST(Control, EveryFamilyWeighsTheSame) {
    const Scenario dp = small_scenario("dp", {});
    std::vector<MeasuredScenario> rows(20, measured(dp, "many", 0.5));
    rows.push_back(measured(dp, "few", 0.3));
    rows.push_back(measured(dp, "fewer", 0.3));
    EXPECT_EQ(Control{rows}.constants().at("ampere bf16"), 0.3);
}

TEST(Control, ClassesWithoutRowsGetTheMeanOfTheOthers) {
    const Scenario bf16 = small_scenario("bf16", {});
    const Scenario fp16 = small_scenario("fp16", {"plan.precision=fp16"});
    const Scenario fp32 = small_scenario("fp32", {"plan.precision=fp32"});
    const Control control{{measured(bf16, "a", 0.5), measured(fp16, "a", 0.3)}};
    EXPECT_EQ(control.constants().size(), 2U);
    EXPECT_NEAR(control.predicted_s(fp32), measured(fp32, "", 0.4).measured_s, 1e-9);
}

// What the table's own authors found for a constant MFU: a balanced error of 8.5 %.
TEST(Control, AConstantMfuIsAboutEightPercentWrongOnItsOwnRows) {
    std::vector<MeasuredScenario> rows;
    const auto published =
        read_published_cases(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training.csv");
    ASSERT_TRUE(published);
    const Catalogue catalogue{ORRERY_SOURCE_DIR "/scenarios/catalogue"};
    for (const PublishedCase& row : *published) {
        auto scenario = scenario_of(row, catalogue);
        if (scenario && row.model.num_experts == 0) {
            rows.push_back({std::move(*scenario), row.family, row.measured_s});
        }
    }
    const Control control{rows};
    Validation validation;
    for (const MeasuredScenario& row : rows) {
        const double predicted = control.predicted_s(row.scenario);
        validation.rows.push_back({.name = "",
                                   .family = row.family,
                                   .measured_s = row.measured_s,
                                   .predicted_s = predicted,
                                   .control_s = predicted});
    }
    summarise_families(validation);
    EXPECT_NEAR(validation.control_balanced_error, 0.085, 0.01);
}

}  // namespace
}  // namespace orrery
