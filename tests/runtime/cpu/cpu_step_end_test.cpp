// SPDX-License-Identifier: Apache-2.0
// The end of a step inside a whole Program: clipping, and AdamW by its formula.
#include "runtime/cpu/cpu_step_end.h"

#include <gtest/gtest.h>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

double norm_of(TinyRun& run) {
    double sum = 0;
    for (const std::string& parameter : run.parameters()) {
        for (const float g : run.values(parameter + " gradient")) {
            sum += static_cast<double>(g) * static_cast<double>(g);
        }
    }
    return std::sqrt(sum);
}

TEST(StepEnd, ClipsToTheNorm) {
    TinyRun free{tiny_gpt(), tiny_plan()};
    free.executor().run_step();
    const double norm = norm_of(free);
    EXPECT_NEAR(std::sqrt(static_cast<double>(free.values("gradient norm")[0])), norm, 1e-5 * norm);
    TinyRun clipped{tiny_gpt(), tiny_plan()};
    clipped.set(DeviceScalar::clip_norm, norm / 4);
    clipped.executor().run_step();
    EXPECT_NEAR(norm_of(clipped), norm / 4, 1e-5 * norm);
}

// Matrices decay, norms and biases do not.
TEST(StepEnd, AdamWFollowsItsFormula) {
    TinyRun run{tiny_gpt(), tiny_plan()};
    constexpr double kRate = 0.01;
    constexpr double kDecay = 0.1;
    run.set(DeviceScalar::learning_rate, kRate);
    run.set(DeviceScalar::beta1, 0.9);
    run.set(DeviceScalar::beta2, 0.95);
    run.set(DeviceScalar::epsilon, 1e-8);
    run.set(DeviceScalar::weight_decay, kDecay);
    std::vector<std::vector<float>> before;
    for (const std::string& parameter : run.parameters()) {
        before.push_back(run.values(parameter));
    }
    run.executor().run_step();
    std::size_t p = 0;
    for (const std::string& parameter : run.parameters()) {
        const bool vector = parameter.ends_with("layernorm") || parameter.ends_with(".bias");
        const std::vector<float> after = run.values(parameter);
        const std::vector<float> gradient = run.values(parameter + " gradient");
        for (std::size_t i = 0; i < after.size(); ++i) {
            const auto g = static_cast<double>(gradient[i]);
            const auto w = static_cast<double>(before[p][i]);
            // The first step's corrected moments are g and g^2.
            const double update = g / (std::abs(g) + 1e-8) + (vector ? 0 : kDecay) * w;
            EXPECT_NEAR(static_cast<double>(after[i]), w - kRate * update, 1e-5) << parameter;
        }
        ++p;
    }
}

}  // namespace
}  // namespace orrery
