// SPDX-License-Identifier: Apache-2.0
// Context parallelism, by a ring and by a head exchange, alone and with everything else: the losses
// of one rank, and the same bits when run again.
#include "runtime/cpu/cpu_attention.h"

#include "tests/runtime/rank_training.h"

namespace orrery {
namespace cpu_attention_test {

constexpr std::int64_t kManySteps = 20;

struct Sizes {
    std::int64_t tp = 1;
    std::int64_t cp = 1;
    std::int64_t pp = 1;
    std::int64_t dp = 1;
};

ParallelPlan context_plan(const Sizes& sizes, ContextParallelComm comm) {
    ParallelPlan plan = plan_of(sizes.pp, sizes.dp, ShardingStrategy::no_shard);
    plan.global_batch_size = 4;
    plan.tensor_model_parallel_size = sizes.tp;
    plan.context_parallel_size = sizes.cp;
    plan.context_parallel_comm = comm;
    return plan;
}

void expect_same_losses(const Training& one, const Training& many) {
    ASSERT_EQ(one.losses.size(), many.losses.size());
    for (std::size_t s = 0; s < one.losses.size(); ++s) {
        EXPECT_NEAR(many.losses[s], one.losses[s], 1e-5 * one.losses[s]) << "step " << s;
    }
}

Transformer four_heads(Transformer model) {
    model.num_attention_heads = 4;
    model.num_query_groups = 4;
    model.kv_channels = 4;
    model.seq_length = 16;
    return model;
}

TEST(ContextParallel, ARingTrainsWhatOneRankTrains) {
    for (const Transformer& tiny : {tiny_gpt(), tiny_llama()}) {
        Transformer model = tiny;
        model.seq_length = 16;
        const Training one = train(model, context_plan({}, ContextParallelComm::ring), kManySteps);
        for (const std::int64_t cp : {2, 4}) {
            SCOPED_TRACE(testing::Message() << "cp " << cp);
            const ParallelPlan plan = context_plan({.cp = cp}, ContextParallelComm::ring);
            expect_same_losses(one, train(model, plan, kManySteps));
        }
    }
}

TEST(ContextParallel, AHeadExchangeTrainsWhatOneRankTrains) {
    Transformer grouped = four_heads(tiny_llama());
    grouped.num_query_groups = 2;
    for (const Transformer& model : {four_heads(tiny_gpt()), grouped}) {
        const Training one =
            train(model, context_plan({}, ContextParallelComm::all_to_all), kManySteps);
        for (const std::int64_t cp : {2, 4}) {
            if (model.num_query_groups % cp != 0) {
                continue;
            }
            SCOPED_TRACE(testing::Message() << "cp " << cp);
            const ParallelPlan plan = context_plan({.cp = cp}, ContextParallelComm::all_to_all);
            const Training many = train(model, plan, kManySteps);
            expect_same_losses(one, many);
        }
    }
}

TEST(ContextParallel, EightRanksHaveTheGradientsOfOne) {
    Transformer model = tiny_llama();
    model.seq_length = 16;
    const Training one = train(model, context_plan({}, ContextParallelComm::ring));
    expect_near(one, train(model, context_plan({.cp = 8}, ContextParallelComm::ring)));
}

TEST(ContextParallel, GoesWithEveryOtherParallelism) {
    const Transformer model = four_heads(tiny_llama());
    const Training one = train(model, context_plan({}, ContextParallelComm::ring));
    const auto check = [&](const Sizes& sizes, ShardingStrategy sharding, bool sequence_parallel) {
        for (const auto comm : {ContextParallelComm::ring, ContextParallelComm::all_to_all}) {
            SCOPED_TRACE(testing::Message()
                         << "tp " << sizes.tp << " cp " << sizes.cp << " pp " << sizes.pp << " dp "
                         << sizes.dp << " ZeRO " << static_cast<int>(sharding) << " comm "
                         << static_cast<int>(comm));
            ParallelPlan plan = context_plan(sizes, comm);
            plan.data_parallel_sharding_strategy = sharding;
            plan.sequence_parallel = sequence_parallel;
            expect_near(one, train(model, plan));
        }
    };
    check({.tp = 2, .cp = 2}, ShardingStrategy::no_shard, false);
    check({.tp = 2, .cp = 2, .dp = 2}, ShardingStrategy::optim, true);
    check({.cp = 2, .pp = 2, .dp = 2}, ShardingStrategy::optim_grads, false);
    check({.cp = 2, .dp = 4}, ShardingStrategy::optim_grads_params, false);
    check({.tp = 2, .cp = 2, .pp = 2}, ShardingStrategy::optim_grads_params, true);
}

TEST(ContextParallel, RecomputesWithTheRing) {
    const Transformer model = four_heads(tiny_gpt());
    const Training one = train(model, context_plan({}, ContextParallelComm::ring));
    for (const auto recompute : {Recompute::selective, Recompute::full}) {
        ParallelPlan plan = context_plan({.tp = 2, .cp = 4}, ContextParallelComm::ring);
        plan.sequence_parallel = true;
        plan.recompute_granularity = recompute;
        expect_near(one, train(model, plan));
    }
}

TEST(ContextParallel, RepeatsToTheSameBits) {
    const Transformer model = four_heads(tiny_gpt());
    for (const auto comm : {ContextParallelComm::ring, ContextParallelComm::all_to_all}) {
        ParallelPlan plan = context_plan({.tp = 2, .cp = 2, .dp = 2}, comm);
        plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
        EXPECT_EQ(train(model, plan), train(model, plan));
    }
}

TEST(Kernels, UnfusedAttentionTrainsWhatFlashAttentionTrains) {
    Transformer windowed = tiny_llama();
    windowed.sliding_window = 3;
    windowed.sliding_window_every = 2;
    for (const Transformer& model : {tiny_gpt(), windowed}) {
        const Training flash = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
        for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
            ParallelPlan plan = plan_of(1, 1, ShardingStrategy::no_shard);
            plan.attention_kernel = AttentionKernel::unfused;
            plan.recompute_granularity = recompute;
            expect_near(flash, train(model, plan));
        }
    }
}

}  // namespace cpu_attention_test
}  // namespace orrery
