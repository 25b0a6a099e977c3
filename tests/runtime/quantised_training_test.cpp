// SPDX-License-Identifier: Apache-2.0
// Training with ZeRO++'s quantised weights and gradients on the CPU: errors of a reduction have a
// bound, ranks agree, and a model learns as it does without.
#include <cmath>

#include "models/plan/validate_plan.h"
#include "runtime/trainable.h"
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

ParallelPlan quantised_plan(std::int64_t dp, std::int64_t inside, bool weights, bool gradients) {
    ParallelPlan plan = plan_of(1, dp, ShardingStrategy::optim_grads_params);
    plan.zero_hpz_partition_size = inside;
    plan.zero_quantized_weights = weights;
    plan.zero_quantized_gradients = gradients;
    return plan;
}

Training trained(const ParallelPlan& plan, std::int64_t steps) {
    const Transformer model = tiny_llama();
    const std::int64_t ranks = plan.model_parallel_size() * plan.data_parallel_size;
    const Errors errors = check(model, plan, ranks);
    EXPECT_TRUE(errors.empty()) << errors.front().to_string();
    const Errors refused = check_trainable(model, plan, ranks);
    EXPECT_TRUE(refused.empty()) << refused.front().to_string();
    return train(model, plan, steps, {}, 0);
}

// Of the first step, whose forward pass is exact: codes of 4 bits are off by half of a seventh of
// the largest gradient of a block at most, once a hop. The norm of all gradients shows it.
TEST(QuantisedTraining, GradientsOfTheFirstStepAreNearTheExactOnes) {
    const Training exact = trained(quantised_plan(4, 0, false, false), 1);
    for (const std::int64_t inside : {0, 2}) {
        SCOPED_TRACE(inside);
        const Training quantised = trained(quantised_plan(4, inside, false, true), 1);
        EXPECT_EQ(exact.losses, quantised.losses);
        EXPECT_NE(exact.norms, quantised.norms);
        EXPECT_NEAR(quantised.norms[0], exact.norms[0], 0.05 * exact.norms[0]);
    }
}

// A shard's codes of 8 bits: the loss of the first step moves little.
TEST(QuantisedTraining, LossesWithQuantisedWeightsAreNear) {
    const Training exact = trained(quantised_plan(4, 0, false, false), 1);
    const Training quantised = trained(quantised_plan(4, 0, true, false), 1);
    EXPECT_NE(exact.losses, quantised.losses);
    EXPECT_NEAR(quantised.losses[0], exact.losses[0], 0.01 * exact.losses[0]);
}

TEST(QuantisedTraining, LearnsAsItDoesExactly) {
    constexpr std::int64_t kManySteps = 40;
    const Training exact = trained(quantised_plan(4, 2, false, false), kManySteps);
    const Training quantised = trained(quantised_plan(4, 2, true, true), kManySteps);
    const double begin = exact.losses.front();
    const double learnt = begin - exact.losses.back();
    ASSERT_GT(learnt, 0.3);
    EXPECT_NEAR(quantised.losses.back(), exact.losses.back(), 0.15 * learnt);
    EXPECT_EQ(quantised, trained(quantised_plan(4, 2, true, true), kManySteps));
}

// Hybrid sharding sums copies of the shards, context-parallel ranks share gradients, too.
TEST(QuantisedTraining, OtherLayoutsOfRanksTrainAlike) {
    const Training exact = trained(quantised_plan(4, 0, false, false), kSteps);
    const auto compare = [&](const char* what, auto change) {
        SCOPED_TRACE(what);
        ParallelPlan plan = quantised_plan(4, 2, true, true);
        change(plan);
        const Training other = trained(plan, kSteps);
        for (std::size_t s = 0; s < exact.losses.size(); ++s) {
            EXPECT_NEAR(other.losses[s], exact.losses[s], 0.02 * exact.losses[s]) << s;
        }
    };
    compare("hybrid", [](ParallelPlan& p) {
        p.zero_hpz_partition_size = 0;
        p.hsdp_shard_size = 2;
    });
    compare("context", [](ParallelPlan& p) {
        p.data_parallel_size = 2;
        p.context_parallel_size = 2;
    });
    compare("tensor", [](ParallelPlan& p) {
        p.data_parallel_size = 4;
        p.tensor_model_parallel_size = 2;
        p.sequence_parallel = true;
    });
    compare("by parameter", [](ParallelPlan& p) { p.fsdp_unit_layers = 0; });
}

}  // namespace
}  // namespace orrery
