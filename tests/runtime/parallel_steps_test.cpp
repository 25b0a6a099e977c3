// SPDX-License-Identifier: Apache-2.0
// The same model, data and steps on one rank and on several, in every layout that real mode knows:
// the same losses and the same weights, up to the order of fp32 sums; and the same bits when run
// again.
#include "models/plan/validate_plan.h"
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

TEST(ParallelSteps, DataParallelRanksTrainWhatOneRankTrains) {
    const auto check = [](const Transformer& model, std::int64_t dp, ShardingStrategy sharding) {
        SCOPED_TRACE(testing::Message() << "dp " << dp << ", ZeRO " << static_cast<int>(sharding));
        expect_near(train(model, plan_of(1, 1, ShardingStrategy::no_shard)),
                    train(model, plan_of(1, dp, sharding)));
    };
    check(tiny_gpt(), 2, ShardingStrategy::no_shard);
    check(tiny_gpt(), 8, ShardingStrategy::optim);
    check(tiny_llama(), 4, ShardingStrategy::optim_grads);
    check(tiny_gpt(), 4, ShardingStrategy::optim_grads_params);
    check(tiny_llama(), 8, ShardingStrategy::optim_grads_params);
}

TEST(ParallelSteps, GradientsReducedInEveryMicroBatchTrainWhatOneRankTrains) {
    for (const std::int64_t pp : {1, 2}) {
        ParallelPlan plan = plan_of(pp, 4, ShardingStrategy::optim_grads);
        plan.reduce_every_micro_batch = true;
        for (const bool overlap : {false, true}) {
            SCOPED_TRACE(testing::Message() << "pp " << pp << ", overlap " << overlap);
            plan.overlap_grad_reduce = overlap;
            EXPECT_GT(plan.num_micro_batches(), 1);
            expect_near(train(tiny_llama(), plan_of(1, 1, ShardingStrategy::no_shard)),
                        train(tiny_llama(), plan));
        }
    }
}

TEST(ParallelSteps, PipelinesTrainWhatOneRankTrains) {
    for (Transformer model : {tiny_gpt(), tiny_llama()}) {
        model.num_layers = 4;
        const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
        for (const std::int64_t pp : {2, 4}) {
            for (const std::int64_t chunks : {1, 2}) {
                if (pp * chunks > model.num_layers) {
                    continue;
                }
                SCOPED_TRACE(testing::Message() << "pp " << pp << " x " << chunks);
                ParallelPlan plan = plan_of(pp, 1, ShardingStrategy::no_shard);
                plan.virtual_pipeline_model_parallel_size = chunks;
                plan.schedule =
                    chunks > 1 ? ScheduleKind::interleaved_1f1b : ScheduleKind::one_f_one_b;
                expect_near(one, train(model, plan));
            }
        }
    }
}

TEST(ParallelSteps, PipelinesOfShardedRanksTrainWhatOneRankTrainsToTheSameBitsEachTime) {
    Transformer model = tiny_gpt();
    model.num_layers = 4;
    const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
    ParallelPlan plan = plan_of(2, 4, ShardingStrategy::optim);
    plan.overlap_grad_reduce = true;
    plan.overlap_param_gather = true;
    const Training many = train(model, plan);
    expect_near(one, many);
    EXPECT_EQ(many, train(model, plan));
}

// Here no step begins before the last one has ended; the optimizer goes in two parts.
TEST(ParallelSteps, GathersWithTheOptimizerStepChangeNoBit) {
    Transformer model = tiny_gpt();
    model.num_layers = 4;
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::lamb}) {
        ParallelPlan plan = plan_of(2, 2, ShardingStrategy::optim);
        plan.virtual_pipeline_model_parallel_size = 2;
        plan.schedule = ScheduleKind::interleaved_1f1b;
        plan.optimizer = optimizer;
        plan.overlap_grad_reduce = true;
        plan.overlap_param_gather = true;
        const Training apart = train(model, plan);
        plan.overlap_param_gather_with_optimizer_step = true;
        EXPECT_EQ(apart, train(model, plan));
    }
}

TEST(ParallelSteps, TensorParallelRanksTrainWhatOneRankTrains) {
    Transformer two_groups = tiny_llama();
    two_groups.num_query_groups = 2;
    Transformer untied = tiny_gpt();
    untied.tied_embeddings = false;
    Transformer block = tiny_gpt();
    block.parallel_block = true;
    Transformer biased = two_groups;
    biased.add_qkv_bias = true;
    bool sequence_parallel = false;
    for (const Transformer& model : {tiny_gpt(), two_groups, untied, biased, block, tiny_gpt()}) {
        SCOPED_TRACE(testing::Message() << "sequence parallel " << sequence_parallel);
        ParallelPlan plan = plan_of(1, 1, ShardingStrategy::no_shard);
        const Training one = train(model, plan);
        plan.tensor_model_parallel_size = 2;
        plan.sequence_parallel = sequence_parallel;
        expect_near(one, train(model, plan));
        sequence_parallel = !sequence_parallel;
    }
}

// Stages whose tensor-parallel sizes differ, growing and shrinking along the pipeline, around its
// end, and with several key-value heads a rank or several ranks a head.
TEST(ParallelSteps, StagesWithTensorSizesOfTheirOwnTrainWhatOneRankTrains) {
    Transformer untied = tiny_gpt();
    untied.tied_embeddings = false;
    Transformer grouped = tiny_llama();
    grouped.tied_embeddings = false;
    grouped.num_attention_heads = 4;
    grouped.num_query_groups = 2;
    grouped.kv_channels = 4;
    const auto check = [&](Transformer model, std::vector<std::int64_t> sizes, auto change) {
        model.num_layers = 4;
        const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
        ParallelPlan plan =
            plan_of(static_cast<std::int64_t>(sizes.size()), 1, ShardingStrategy::no_shard);
        plan.tensor_model_parallel_size = std::ranges::max(sizes);
        plan.stage_tensor_model_parallel_sizes = std::move(sizes);
        change(plan);
        const std::int64_t gpus = plan.model_parallel_size() * plan.data_parallel_size;
        const Errors errors = orrery::check(model, plan, gpus);
        ASSERT_TRUE(errors.empty()) << errors.front().to_string();
        expect_near(one, train(model, plan));
    };
    const auto as_it_is = [](ParallelPlan&) {};
    check(untied, {2, 1}, as_it_is);
    check(untied, {1, 2}, [](ParallelPlan& plan) { plan.sequence_parallel = true; });
    check(grouped, {4, 2, 1, 2}, [](ParallelPlan& plan) { plan.sequence_parallel = true; });
    check(grouped, {1, 4}, [](ParallelPlan& plan) {
        plan.data_parallel_size = 2;
        plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
        plan.overlap_grad_reduce = plan.overlap_param_gather = true;
    });
    check(untied, {2, 1}, [](ParallelPlan& plan) {
        plan.virtual_pipeline_model_parallel_size = 2;
        plan.schedule = ScheduleKind::interleaved_1f1b;
        plan.sequence_parallel = plan.overlap_p2p = true;
    });
    check(grouped, {2, 4}, [](ParallelPlan& plan) {
        plan.context_parallel_size = 2;
        plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    });
}

// Fewer key-value heads than tensor-parallel ranks.
TEST(ParallelSteps, RanksThatShareAKeyValueHeadTrainWhatOneRankTrains) {
    Transformer model = tiny_llama();
    model.num_attention_heads = 4;
    model.kv_channels = 4;
    model.add_bias_linear = true;
    const auto check = [&](const ParallelPlan& plan) {
        expect_near(train(model, plan_of(1, 1, ShardingStrategy::no_shard)), train(model, plan));
    };
    model.num_query_groups = 2;
    ParallelPlan plan = plan_of(1, 1, ShardingStrategy::no_shard);
    plan.tensor_model_parallel_size = 4;
    plan.sequence_parallel = true;
    plan.tp_comm_overlap = true;
    plan.tp_comm_overlap_chunks = 2;
    plan.recompute_granularity = Recompute::full;
    check(plan);
    model.num_query_groups = 1;
    ParallelPlan mixed = plan_of(2, 2, ShardingStrategy::optim_grads_params);
    mixed.tensor_model_parallel_size = 2;
    mixed.schedule = ScheduleKind::zero_bubble;
    mixed.attention_kernel = AttentionKernel::unfused;
    check(mixed);
    ParallelPlan ring = plan_of(1, 1, ShardingStrategy::no_shard);
    ring.tensor_model_parallel_size = 2;
    ring.context_parallel_size = 2;
    check(ring);
}

TEST(ParallelSteps, EverythingTogetherTrainsWhatOneRankTrains) {
    Transformer model = tiny_gpt();
    model.tied_embeddings = true;
    const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
    for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        ParallelPlan plan =
            plan_of(2,
                    2,
                    recompute == Recompute::selective ? ShardingStrategy::optim_grads_params
                                                      : ShardingStrategy::optim_grads);
        plan.tensor_model_parallel_size = 2;
        plan.sequence_parallel = true;
        plan.overlap_grad_reduce = true;
        plan.overlap_param_gather = true;
        plan.recompute_granularity = recompute;
        expect_near(one, train(model, plan));
    }
}

}  // namespace
}  // namespace orrery
