// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_offload.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/models/known_models.h"

namespace orrery {
namespace validate_offload_test {

// The key that the only error names, or nothing.
std::string refused(const std::function<void(ParallelPlan&)>& change) {
    ParallelPlan plan{.data_parallel_size = 2,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
                      .global_batch_size = 2};
    plan.optimizer_cpu_offload = true;
    change(plan);
    const Errors errors = check_offload(gpt(4, 128, 8, 64, 512), plan);
    EXPECT_LE(errors.size(), 1u);
    return errors.empty() ? "" : errors[0].where;
}

TEST(ValidateOffload, AllowsWhatTheHostSteps) {
    EXPECT_EQ(refused([](ParallelPlan& p) { p.param_offload_tier = StateTier::file; }), "");
    EXPECT_EQ(refused([](ParallelPlan& p) { p.grad_offload_tier = StateTier::host; }), "");
    EXPECT_EQ(refused([](ParallelPlan& p) { p.delayed_param_update = true; }), "");
    EXPECT_EQ(refused([](ParallelPlan& p) { p.optimizer_offload_fraction = 0.5; }), "");
}

TEST(ValidateOffload, Fp32WeightsAreThoseOfTheHostsStep) {
    EXPECT_EQ(refused([](ParallelPlan& p) { p.offload_fp32_weights = true; }), "");
    const auto refused_with = [](const std::function<void(ParallelPlan&)>& change) {
        return refused([&](ParallelPlan& p) {
            p.offload_fp32_weights = true;
            change(p);
        });
    };
    constexpr const char* kKey = "plan.offload_fp32_weights";
    EXPECT_EQ(refused_with([](ParallelPlan& p) { p.optimizer_cpu_offload = false; }), kKey);
    EXPECT_EQ(refused_with([](ParallelPlan& p) { p.precision = Dtype::fp32; }), kKey);
    EXPECT_EQ(refused_with([](ParallelPlan& p) { p.main_params_dtype = Dtype::bf16; }), kKey);
    EXPECT_EQ(refused_with([](ParallelPlan& p) { p.param_offload_tier = StateTier::host; }), kKey);
}

TEST(ValidateOffload, NamesTheKeyOfWhatIsMissing) {
    EXPECT_EQ(refused([](ParallelPlan& p) { p.optimizer = Optimizer::lamb; }),
              "plan.optimizer_cpu_offload");
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.optimizer_cpu_offload = false;
                  p.optimizer_offload_tier = OffloadTier::file;
              }),
              "plan.optimizer_offload_tier");
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.optimizer_cpu_offload = false;
                  p.optimizer_offload_fraction = 0.5;
              }),
              "plan.optimizer_offload_fraction");
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.optimizer_cpu_offload = false;
                  p.delayed_param_update = true;
              }),
              "plan.delayed_param_update");
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.data_parallel_sharding_strategy = ShardingStrategy::optim;
                  p.param_offload_tier = StateTier::host;
              }),
              "plan.param_offload_tier");
    EXPECT_EQ(refused([](ParallelPlan& p) { p.param_offload_fraction = 0.5; }),
              "plan.param_offload_fraction");
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.optimizer_cpu_offload = false;
                  p.grad_offload_tier = StateTier::host;
              }),
              "plan.grad_offload_tier");
}

TEST(ValidateOffload, NamesWhatDoesNotGoTogether) {
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.delayed_param_update = true;
                  p.param_offload_tier = StateTier::host;
              }),
              "plan.delayed_param_update");
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.delayed_param_update = true;
                  p.optimizer_offload_tier = OffloadTier::file;
              }),
              "plan.delayed_param_update");
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.optimizer_offload_fraction = 0.5;
                  p.grad_offload_tier = StateTier::host;
              }),
              "plan.optimizer_offload_fraction");
    for (const auto schedule : {ScheduleKind::zero_bubble, ScheduleKind::dual_pipe}) {
        EXPECT_EQ(refused([&](ParallelPlan& p) {
                      p.grad_offload_tier = StateTier::host;
                      p.schedule = schedule;
                  }),
                  "plan.grad_offload_tier");
    }
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.grad_offload_tier = StateTier::host;
                  p.zero_quantized_gradients = true;
              }),
              "plan.grad_offload_tier");
    EXPECT_EQ(refused([](ParallelPlan& p) {
                  p.grad_offload_tier = StateTier::host;
                  p.pipeline_model_parallel_size = 2;
              }),
              "plan.grad_offload_tier");  // the embedding is tied
}

}  // namespace validate_offload_test
}  // namespace orrery
