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
    const Batch batch = batch_of_steps(
        {{.new_tokens = 1, .context = 9, .samples = true}, {.new_tokens = 7, .context = 0}});
    EXPECT_EQ(sizes_of(batch, 10),
              (MeasuredStepCost::Sizes{1, 8, 12, 1, 2, 6 * 10 + 12 * 7, 17, 7}));
    EXPECT_EQ(sizes_of(batch, 100)[7], 0);
}

TEST(StepTimes, AFitFindsTheFactorsAndTheCache) {
    std::vector<Batch> batches;
    std::vector<double> seconds;
    for (std::int64_t chunks = 1; chunks < 30; chunks += 3) {
        for (std::int64_t tokens = 1; tokens < 20; tokens += 4) {
            const std::vector<SequenceStep> steps(
                static_cast<std::size_t>(chunks),
                {.new_tokens = tokens, .context = 7 * tokens, .samples = chunks % 2 == 0});
            batches.push_back(batch_of_steps(steps));
            const auto sizes = sizes_of(batches.back(), 512);
            seconds.push_back(1e-3 + 2e-5 * sizes[2] + 3e-6 * sizes[5] + 4e-6 * sizes[7]);
        }
    }
    const MeasuredStepCost::Fit fit = fit_step_times(batches, seconds);
    EXPECT_EQ(fit.held_tokens, 512);
    EXPECT_NEAR(fit.seconds[0], 1e-3, 1e-6);
    EXPECT_NEAR(fit.seconds[2], 2e-5, 1e-8);
    EXPECT_NEAR(fit.seconds[5], 3e-6, 1e-9);
    EXPECT_NEAR(fit.seconds[7], 4e-6, 1e-9);
    std::vector<Time> stages(1);
    MeasuredStepCost{fit}.times(batches.front(), stages);
    EXPECT_NEAR(stages.front().seconds(), seconds.front(), 1e-8);
    for (double& one : seconds) {
        one -= 0.9e-3;  // the fixed part nearly gone
    }
    for (const double factor : fit_step_times(batches, seconds).seconds) {
        EXPECT_GE(factor, 0);
    }
}

TEST(StepTimes, AServersStepsAreSlowerAndTheFirstOnesMore) {
    MeasuredStepCost cost{
        {.seconds = {2e-3}, .held_tokens = 64, .slower = 1.5, .waking_s = {5e-3, 1e-3}}};
    const Batch batch = batch_of_steps({{.new_tokens = 1, .context = 9, .samples = true}});
    std::vector<Time> stages(1);
    cost.times(batch, stages);
    EXPECT_EQ(stages.front(), Time::seconds(3e-3));
    EXPECT_EQ(cost.after_idling(0), Time::seconds(5e-3));
    EXPECT_EQ(cost.after_idling(1), Time::seconds(1e-3));
    EXPECT_EQ(cost.after_idling(2), Time{});
    EXPECT_EQ(cost.after_idling(1 << 20), Time{});
}

}  // namespace
}  // namespace orrery
