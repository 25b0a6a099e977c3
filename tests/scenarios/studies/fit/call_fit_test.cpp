// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/call_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

const std::string kCatalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";

std::vector<PublishedCase> host_bound() {
    return read_published_cases(kCatalogue + "/published/host_bound.csv").value();
}

TEST(SampleCalls, FindsTheCostThatAStepWasMadeWith) {
    const Catalogue catalogue{kCatalogue};
    PublishedCase row = host_bound().front();
    EfficiencyTable table;
    table.set("host.call", "*", "*", {.value = 25, .sigma = 0, .source = "test"});
    SimulationOptions options;
    options.step_table = table;
    row.measured_s =
        simulate_scenario(scenario_of(row, catalogue).value(), options).value().iteration.seconds();
    const auto samples = sample_calls({row}, catalogue);
    ASSERT_TRUE(samples && samples->size() == 1);
    EXPECT_NEAR(samples->front().call, 25, 0.05);
    EXPECT_EQ(samples->front().generation, "ampere");
    EXPECT_EQ(samples->front().dtype, "fp16");
}

TEST(FitCalls, TakesMediansAndGivesOtherServersTheLatest) {
    EfficiencyTable table;
    fit_calls({{"a", "ampere", "fp16", 30},
               {"b", "ampere", "fp16", 34},
               {"c", "ampere", "fp16", 80},
               {"d", "hopper", "fp16", 18},
               {"e", "hopper", "fp8", 23}},
              table);
    EXPECT_EQ(table.value_or("host.call", "ampere", "fp16", 0), 34);
    EXPECT_EQ(table.value_or("host.call", "blackwell", "fp16", 0), 18);
    EXPECT_EQ(table.value_or("host.call", "blackwell", "fp8", 0), 23);
    EXPECT_EQ(table.value_or("host.call", "volta", "fp32", 0), 18);
}

// The table that is kept is the one that the kept measurements give.
TEST(FitCalls, GivesTheCataloguesCosts) {
    const Catalogue catalogue{kCatalogue};
    const auto samples = sample_calls(host_bound(), catalogue);
    ASSERT_TRUE(samples);
    EXPECT_EQ(samples->size(), 12U);
    EfficiencyTable fitted;
    fit_calls(*samples, fitted);
    const auto kept = read_efficiency_table(kCatalogue + "/step_efficiency.csv");
    ASSERT_TRUE(kept);
    for (const char* generation : {"ampere", "hopper", "volta"}) {
        for (const char* dtype : {"fp16", "fp8"}) {
            const double value = kept->value_or("host.call", generation, dtype, 0);
            EXPECT_NEAR(fitted.value_or("host.call", generation, dtype, 0), value, 0.01 * value)
                << generation << " " << dtype;
        }
    }
}

// Steps with a pipeline did not take part in the fit.
TEST(HostBoundSteps, OfPipelinesAreThePredictedOnesInTheMedian) {
    const Catalogue catalogue{kCatalogue};
    std::vector<double> errors;
    for (const PublishedCase& row : host_bound()) {
        if (row.plan.pipeline_model_parallel_size > 1) {
            const auto answer = simulate_scenario(scenario_of(row, catalogue).value());
            ASSERT_TRUE(answer) << row.name;
            errors.push_back(std::abs(answer->iteration.seconds() / row.measured_s - 1));
        }
    }
    ASSERT_EQ(errors.size(), 13U);
    std::ranges::sort(errors);
    EXPECT_LT(errors[errors.size() / 2], 0.25);
}

}  // namespace
}  // namespace orrery
