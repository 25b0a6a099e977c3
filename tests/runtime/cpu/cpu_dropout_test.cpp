// SPDX-License-Identifier: Apache-2.0
// Dropout, of the embedding, the attention and both branches: the same elements under every
// sharding, schedule, kernel and recomputation, others in every step and micro-batch; and gradients
// that are those of the loss with these elements dropped.
#include "runtime/cpu/cpu_dropout.h"

#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

Transformer dropping(Transformer model) {
    model.num_attention_heads = 4;
    model.num_query_groups = 4;
    model.kv_channels = 4;
    model.dropout = 0.2;
    return model;
}

ParallelPlan small_plan(std::int64_t pp = 1, std::int64_t dp = 1) {
    ParallelPlan plan = plan_of(pp, dp, ShardingStrategy::no_shard);
    plan.global_batch_size = 4;
    return plan;
}

TEST(Dropout, IsTheSameUnderEveryKernelAndRecomputation) {
    const Transformer model = dropping(tiny_gpt());
    const Training one = train(model, small_plan());
    Transformer without = model;
    without.dropout = 0;
    EXPECT_GT(std::abs(train(without, small_plan()).losses[0] - one.losses[0]), 1e-3);
    for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        for (const auto kernel : {AttentionKernel::flash_2, AttentionKernel::unfused}) {
            SCOPED_TRACE(testing::Message() << "recompute " << static_cast<int>(recompute)
                                            << " kernel " << static_cast<int>(kernel));
            ParallelPlan plan = small_plan();
            plan.recompute_granularity = recompute;
            plan.attention_kernel = kernel;
            expect_near(one, train(model, plan));
        }
    }
}

TEST(Dropout, IsTheSameUnderEverySharding) {
    Transformer block = dropping(tiny_gpt());
    block.parallel_block = true;
    for (const Transformer& model : {dropping(tiny_llama()), block}) {
        const Training one = train(model, small_plan());
        ParallelPlan plan = small_plan(1, 2);
        plan.tensor_model_parallel_size = 2;
        expect_near(one, train(model, plan));
        plan.sequence_parallel = true;
        plan.context_parallel_size = 2;
        plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
        expect_near(one, train(model, plan));
        plan.context_parallel_comm = ContextParallelComm::all_to_all;
        plan.attention_kernel = AttentionKernel::unfused;
        expect_near(one, train(model, plan));
        plan = small_plan(2, 2);
        plan.recompute_granularity = Recompute::full;
        expect_near(one, train(model, plan));
    }
}

// The loss moves as the gradient says when one weight does: the masks stay where they are.
TEST(Dropout, GradientsAreThoseOfTheDroppedLoss) {
    const Transformer model = dropping(tiny_gpt());
    for (const auto kernel : {AttentionKernel::flash_2, AttentionKernel::unfused}) {
        ParallelPlan plan = tiny_plan();
        plan.attention_kernel = kernel;
        const auto run = [&](const std::string& name, float change) {
            auto tiny = std::make_unique<TinyRun>(model, plan);
            tiny->set(DeviceScalar::dropout, model.dropout);
            if (!name.empty()) {
                const TensorView weight = tiny->view(name);
                store(weight, 3, load(weight, 3) + change);
            }
            EXPECT_TRUE(tiny->executor().run_step());
            return tiny;
        };
        const auto base = run("", 0);
        for (const std::string& name : base->parameters()) {
            constexpr float kChange = 1e-2f;
            const double slope = (run(name, kChange)->loss() - run(name, -kChange)->loss()) /
                                 (2 * static_cast<double>(kChange));
            const auto gradient = static_cast<double>(base->values(name + " gradient")[3]);
            EXPECT_NEAR(gradient, slope, 2e-3 + 2e-2 * std::abs(slope)) << name;
        }
    }
}

}  // namespace
}  // namespace orrery
