// SPDX-License-Identifier: Apache-2.0
// Whole models executed from their Programs: gradients against finite differences of the loss,
// gradient accumulation and recomputation against doing without.
#include "runtime/cpu/cpu_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "models/memory/memory.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

// |a - b| relative to the larger gradient of the parameter, at its elements that are looked at.
double worst_gradient(TinyRun& run, const std::string& parameter, std::size_t elements) {
    run.executor().run_step();  // learning rate 0: weights stay
    const std::vector<float> gradient = run.values(parameter + " gradient");
    const TensorView weight = run.view(parameter);
    double scale = 0;
    for (const float g : gradient) {
        scale = std::max(scale, std::abs(static_cast<double>(g)));
    }
    EXPECT_GT(scale, 1e-6) << parameter;
    std::mt19937 dice{static_cast<std::uint32_t>(gradient.size())};
    double worst = 0;
    for (std::size_t e = 0; e < elements; ++e) {
        const auto i = static_cast<std::int64_t>(dice() % gradient.size());
        const float w = load(weight, i);
        const float eps = 1e-2f;
        const auto loss_at = [&](float value) {
            store(weight, i, value);
            run.executor().run_forward();
            return run.loss();
        };
        // Fourth-order central difference: the error is eps^4.
        const double slope = (8 * (loss_at(w + eps) - loss_at(w - eps)) -
                              (loss_at(w + 2 * eps) - loss_at(w - 2 * eps))) /
                             (12 * static_cast<double>(eps));
        store(weight, i, w);
        const auto made = static_cast<double>(gradient[static_cast<std::size_t>(i)]);
        worst = std::max(worst, std::abs(slope - made) / scale);
    }
    return worst;
}

void expect_true_gradients(const Transformer& model, const ParallelPlan& plan) {
    TinyRun run{model, plan};
    for (const std::string& parameter : run.parameters()) {
        EXPECT_LT(worst_gradient(run, parameter, 12), 0.01) << parameter;
    }
}

TEST(CpuExecutor, GradientsOfAGptAreThoseOfItsLoss) {
    expect_true_gradients(tiny_gpt(), tiny_plan());
}

TEST(CpuExecutor, GradientsOfALlamaAreThoseOfItsLoss) {
    expect_true_gradients(tiny_llama(), tiny_plan());
}

TEST(CpuExecutor, GradientsOfParallelBlocksAreThoseOfTheirLoss) {
    Transformer model = tiny_gpt();
    model.parallel_block = true;
    expect_true_gradients(model, tiny_plan());
}

TEST(CpuExecutor, GradientsOfUnfusedKernelsAreThoseOfTheirLoss) {
    ParallelPlan plan = tiny_plan();
    plan.fused_norm = false;
    plan.gradient_accumulation_fusion = false;
    plan.fused_cross_entropy = true;
    Transformer model = tiny_gpt();
    model.activation = Activation::squared_relu;
    expect_true_gradients(model, plan);
}

// The losses begin near the entropy of guessing, and depend on every token.
TEST(CpuExecutor, LossBeginsNearTheLogarithmOfTheVocabulary) {
    TinyRun run{tiny_gpt(), tiny_plan()};
    run.executor().run_forward();
    EXPECT_GT(run.loss(), 0.5 * std::log(32.0));
    EXPECT_LT(run.loss(), 3 * std::log(32.0));
}

void expect_equal_steps(TinyRun& a, TinyRun& b, float tolerance) {
    for (TinyRun* run : {&a, &b}) {
        run->executor().run_step();
    }
    EXPECT_NEAR(a.loss(), b.loss(), static_cast<double>(tolerance));
    for (const std::string& parameter : a.parameters()) {
        const std::vector<float> ga = a.values(parameter + " gradient");
        const std::vector<float> gb = b.values(parameter + " gradient");
        ASSERT_EQ(ga.size(), gb.size());
        float largest = 0;
        float difference = 0;
        for (std::size_t i = 0; i < ga.size(); ++i) {
            largest = std::max(largest, std::abs(ga[i]));
            difference = std::max(difference, std::abs(ga[i] - gb[i]));
        }
        EXPECT_LE(difference, tolerance * largest) << parameter;
    }
}

TEST(CpuExecutor, FourMicroBatchesOfOneAreOneOfFour) {
    for (const Transformer& model : {tiny_gpt(), tiny_llama()}) {
        ParallelPlan one = tiny_plan();
        one.micro_batch_size = 4;
        ParallelPlan four = tiny_plan();
        four.micro_batch_size = 1;
        TinyRun a{model, one};
        TinyRun b{model, four};
        expect_equal_steps(a, b, 1e-5f);
    }
}

TEST(CpuExecutor, RecomputationGivesTheSameBits) {
    for (const Transformer& model : {tiny_gpt(), tiny_llama()}) {
        TinyRun none{model, tiny_plan()};
        for (const Recompute granularity : {Recompute::selective, Recompute::full}) {
            for (const bool stops : {false, true}) {
                ParallelPlan plan = tiny_plan();
                plan.recompute_granularity = granularity;
                plan.checkpoint_early_stop = stops;
                TinyRun again{model, plan};
                expect_equal_steps(none, again, 0.0f);
            }
        }
    }
}

// Model chunks of one stage, all schedules: another order of the same work.
TEST(CpuExecutor, SchedulesGiveTheSameGradients) {
    TinyRun plain{tiny_gpt(), tiny_plan()};
    for (const ScheduleKind schedule : {ScheduleKind::gpipe, ScheduleKind::zero_bubble}) {
        ParallelPlan plan = tiny_plan();
        plan.schedule = schedule;
        TinyRun other{tiny_gpt(), plan};
        expect_equal_steps(plain, other, 1e-6f);
    }
}

TEST(CpuExecutor, Bf16StepsAreCloseToThoseInFp32) {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    TinyRun wide{tiny_gpt(), tiny_plan()};
    TinyRun narrow{tiny_gpt(), plan};
    expect_equal_steps(wide, narrow, 0.1f);
}

TEST(CpuExecutor, SameRunTwiceGivesTheSameBits) {
    std::vector<std::vector<float>> runs[2];
    for (auto& weights : runs) {
        TinyRun run{tiny_gpt(), tiny_plan()};
        run.set(DeviceScalar::learning_rate, 0.01);
        run.set(DeviceScalar::beta1, 0.9);
        run.set(DeviceScalar::beta2, 0.95);
        run.set(DeviceScalar::epsilon, 1e-8);
        for (int step = 1; step <= 3; ++step) {
            run.set(DeviceScalar::step, step);
            run.executor().run_step();
        }
        for (const std::string& parameter : run.parameters()) {
            weights.push_back(run.values(parameter));
        }
    }
    EXPECT_EQ(runs[0], runs[1]);
    TinyRun fresh{tiny_gpt(), tiny_plan()};
    EXPECT_NE(runs[0][0], fresh.values(fresh.parameters()[0]));  // and it did train
}

TEST(CpuExecutor, RefusesWhatItCannotExecute) {
    ParallelPlan plan = tiny_plan();
    plan.data_parallel_size = 2;
    const Program parallel = lower(tiny_gpt(), plan);
    const auto executor = CpuExecutor::create(parallel, RankId{0});
    ASSERT_FALSE(executor);
    EXPECT_NE(executor.error().what.find("communication"), std::string::npos);
    plan = tiny_plan();
    plan.precision = Dtype::fp16;
    const Program half = lower(tiny_gpt(), plan);
    const auto other = CpuExecutor::create(half, RankId{0});
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().what.find("fp16"), std::string::npos);
}

}  // namespace
}  // namespace orrery
