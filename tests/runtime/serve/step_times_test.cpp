// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/step_times.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

Batch batch_of_steps(std::vector<SequenceStep> steps) {
    Batch batch;
    batch.steps = std::move(steps);
    return batch;
}

TEST(StepTimes, SizesCountTokensTilesAndContext) {
    const MeasuredStepCost::Sizes sizes = sizes_of(batch_of_steps(
        {{.new_tokens = 1, .context = 9, .samples = true}, {.new_tokens = 7, .context = 0}}));
    EXPECT_EQ(sizes, (MeasuredStepCost::Sizes{1, 8, 12, 1, 2, 6 * 10 + 12 * 7, 17}));
}

TEST(StepTimes, AFitFindsTheFactorsAndNoneBelowZero) {
    std::vector<MeasuredStepCost::Sizes> sizes;
    std::vector<double> seconds;
    for (std::int64_t chunks = 1; chunks < 30; chunks += 3) {
        for (std::int64_t tokens = 1; tokens < 20; tokens += 4) {
            std::vector<SequenceStep> steps(
                static_cast<std::size_t>(chunks),
                {.new_tokens = tokens, .context = 3 * tokens, .samples = chunks % 2 == 0});
            sizes.push_back(sizes_of(batch_of_steps(std::move(steps))));
            seconds.push_back(1e-3 + 2e-5 * sizes.back()[2] + 3e-6 * sizes.back()[5]);
        }
    }
    const auto factors = fit_step_times(sizes, seconds);
    EXPECT_NEAR(factors[0], 1e-3, 1e-6);
    EXPECT_NEAR(factors[2], 2e-5, 1e-8);
    EXPECT_NEAR(factors[5], 3e-6, 1e-9);
    for (double& one : seconds) {
        one -= 0.9e-3;  // the fixed part nearly gone
    }
    for (const double factor : fit_step_times(sizes, seconds)) {
        EXPECT_GE(factor, 0);
    }
}

}  // namespace
}  // namespace orrery
