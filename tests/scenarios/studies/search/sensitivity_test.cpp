// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

std::vector<SensitiveFigure> figures_of(const Scenario& scenario,
                                        const SensitivityOptions& options = {}) {
    SearchSpec spec;
    spec.clusters = {{.cluster = scenario.cluster, .device = scenario.device}};
    spec.space.tensor_model_parallel_size = {1, 2, 4};
    spec.space.pipeline_model_parallel_size = {1};
    spec.space.context_parallel_size = {1};
    spec.space.micro_batch_size = {2};
    spec.space.recompute = {Recompute::none};
    spec.keep = 3;
    const auto result = search_plans(scenario, spec);
    EXPECT_TRUE(result);
    const auto figures = sensitivity(scenario, spec, *result, options);
    EXPECT_TRUE(figures);
    return *figures;
}

const SensitiveFigure& find(const std::vector<SensitiveFigure>& figures, const char* name) {
    return *std::ranges::find(figures, name, &SensitiveFigure::figure);
}

TEST(Sensitivity, FasterHardwareIsNeverSlowerAndComesByItsEffect) {
    const auto figures = figures_of(small_scenario("s", {}));
    ASSERT_EQ(figures.size(), 9u);
    double last = 1;
    for (const SensitiveFigure& figure : figures) {
        EXPECT_LE(figure.better, 1e-3) << figure.figure;
        EXPECT_GE(figure.worse, -1e-3) << figure.figure;
        const double effect = std::max(std::abs(figure.better), std::abs(figure.worse));
        EXPECT_LE(effect, last);
        last = effect;
    }
    EXPECT_LT(find(figures, "peak of the arithmetic").better, -0.01);
    // Data parallelism over 100 Gb/s: the network matters.
    EXPECT_GT(find(figures, "bandwidth of the network").worse, 0.001);
}

TEST(Sensitivity, OneServerHasNoNetwork) {
    for (const SensitiveFigure& figure : figures_of(small_scenario("s", {"cluster.nodes=1"}))) {
        EXPECT_NE(figure.figure, "bandwidth of the network");
    }
}

TEST(Sensitivity, InterruptedItKeepsTheFiguresSoFar) {
    int asked = 0;
    SensitivityOptions options;
    options.stop = [&] { return ++asked > 2; };
    EXPECT_EQ(figures_of(small_scenario("s", {}), options).size(), 2u);
}

}  // namespace
}  // namespace orrery
