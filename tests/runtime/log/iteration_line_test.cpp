// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/iteration_line.h"

#include <gtest/gtest.h>

#include "runtime/learning_rate.h"
#include "runtime/trainer.h"

namespace orrery {
namespace {

TEST(IterationLine, IsMegatrons) {
    const StepReport report{.step = 10,
                            .consumed_samples = 80,
                            .seconds = 0.0125,
                            .learning_rate = 1e-3,
                            .loss = 2.5,
                            .gradient_norm = 1.25};
    EXPECT_EQ(iteration_line(report, 100, 8),
              " iteration       10/     100 | consumed samples:           80 | elapsed time per "
              "iteration (ms): 12.5 | learning rate: 1.000000E-03 | global batch size:     8 | lm "
              "loss: 2.500000E+00 | grad norm: 1.250 |");
    EXPECT_EQ(validation_line(10, 0.0),
              " validation loss at iteration 10 | lm loss value: 0.000000E+00 | lm loss PPL: "
              "1.000000E+00 |");
}

TEST(LearningRate, WarmsUpAndFallsByHalfACosine) {
    const LearningRate rate{
        .largest = 1.0, .smallest = 0.2, .warmup_steps = 10, .decay_steps = 110};
    EXPECT_DOUBLE_EQ(rate.at(1), 0.1);
    EXPECT_DOUBLE_EQ(rate.at(10), 1.0);
    EXPECT_DOUBLE_EQ(rate.at(60), 0.6);
    EXPECT_DOUBLE_EQ(rate.at(110), 0.2);
    EXPECT_DOUBLE_EQ(rate.at(500), 0.2);
    EXPECT_DOUBLE_EQ((LearningRate{.largest = 1.0, .decay_steps = 1}.at(1)), 0.0);
}

}  // namespace
}  // namespace orrery
