// SPDX-License-Identifier: Apache-2.0
// Every pipeline schedule, optimizer and shape of a block trains what one rank trains.
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

ParallelPlan schedule_plan(ScheduleKind schedule, std::int64_t pp, std::int64_t dp = 1) {
    ParallelPlan plan = plan_of(pp, dp, ShardingStrategy::no_shard);
    plan.schedule = schedule;
    return plan;
}

TEST(Schedules, TrainWhatOneRankTrains) {
    for (Transformer model : {tiny_gpt(), tiny_llama()}) {
        model.num_layers = 4;
        const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
        for (const auto schedule : {ScheduleKind::gpipe,
                                    ScheduleKind::one_f_one_b,
                                    ScheduleKind::breadth_first,
                                    ScheduleKind::zero_bubble}) {
            SCOPED_TRACE(testing::Message() << "schedule " << static_cast<int>(schedule));
            ParallelPlan plan = schedule_plan(schedule, 2);
            if (schedule == ScheduleKind::breadth_first) {
                plan.virtual_pipeline_model_parallel_size = 2;
            }
            expect_near(one, train(model, plan));
        }
    }
}

// Each part of the model on one rank, or on two of which each trains half of the micro-batches.
TEST(Schedules, BothWaysTrainWhatOneRankTrains) {
    for (Transformer model : {tiny_gpt(), tiny_llama()}) {
        model.num_layers = 4;
        for (const bool both_ends : {false, true}) {
            model.tied_embeddings = model.tied_embeddings && !both_ends;
            ParallelPlan one = plan_of(1, 1, ShardingStrategy::no_shard);
            one.global_batch_size = 8;
            const Training alone = train(model, one);
            for (const auto recompute : {Recompute::none, Recompute::full}) {
                SCOPED_TRACE(testing::Message() << (both_ends ? "DualPipe" : "DualPipeV")
                                                << " recompute " << static_cast<int>(recompute));
                ParallelPlan plan = schedule_plan(
                    both_ends ? ScheduleKind::dual_pipe : ScheduleKind::dual_pipe_v, 2, 2);
                plan.virtual_pipeline_model_parallel_size = both_ends ? 1 : 2;
                plan.global_batch_size = 8;
                plan.overlap_p2p = true;
                plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
                plan.recompute_granularity = recompute;
                expect_near(alone, train(model, plan));
            }
        }
    }
}

TEST(Schedules, SplitBackwardPassesGoWithShardingAndRecomputation) {
    Transformer model = tiny_gpt();
    model.num_layers = 4;
    const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
    for (const auto sharding : {ShardingStrategy::optim, ShardingStrategy::optim_grads_params}) {
        for (const auto recompute : {Recompute::none, Recompute::full}) {
            SCOPED_TRACE(testing::Message() << "ZeRO " << static_cast<int>(sharding)
                                            << " recompute " << static_cast<int>(recompute));
            ParallelPlan plan = schedule_plan(ScheduleKind::zero_bubble, 2, 2);
            plan.data_parallel_sharding_strategy = sharding;
            plan.recompute_granularity = recompute;
            plan.tensor_model_parallel_size = 2;
            plan.sequence_parallel = true;
            expect_near(one, train(model, plan));
        }
    }
}

// A window of one token attends to itself alone, one of the sequence to everything.
TEST(Kernels, WindowsOfTheWholeSequenceAreNone) {
    Transformer model = tiny_gpt();
    model.sliding_window = model.seq_length - 1;
    const Training windowed = train(model, tiny_plan());
    model.sliding_window = 0;
    const Training whole = train(model, tiny_plan());
    EXPECT_NE(windowed.losses, whole.losses);
    model.sliding_window = model.seq_length;
    EXPECT_EQ(train(model, tiny_plan()), whole);
}

TEST(Kernels, ParallelBlocksAndWindowsGoWithEverything) {
    Transformer model = tiny_gpt();
    model.parallel_block = true;
    model.sliding_window = 3;
    const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
    for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        ParallelPlan plan = plan_of(2, 2, ShardingStrategy::optim);
        plan.tensor_model_parallel_size = 2;
        plan.sequence_parallel = recompute != Recompute::none;  // else messages are slices
        plan.recompute_granularity = recompute;
        expect_near(one, train(model, plan));
    }
}

// The trust ratio is that of the whole tensor, however it is divided among the ranks.
TEST(Lamb, TrainsWhatOneRankTrains) {
    for (Transformer model : {tiny_gpt(), tiny_llama()}) {
        model.num_query_groups = 2;
        const auto lamb_plan = [](std::int64_t pp, std::int64_t dp, ShardingStrategy sharding) {
            ParallelPlan plan = plan_of(pp, dp, sharding);
            plan.optimizer = Optimizer::lamb;
            return plan;
        };
        const Training one = train(model, lamb_plan(1, 1, ShardingStrategy::no_shard));
        EXPECT_NE(one.losses, train(model, plan_of(1, 1, ShardingStrategy::no_shard)).losses);
        expect_near(one, train(model, lamb_plan(1, 4, ShardingStrategy::optim)));
        expect_near(one, train(model, lamb_plan(2, 2, ShardingStrategy::optim_grads_params)));
        ParallelPlan plan = lamb_plan(2, 2, ShardingStrategy::no_shard);
        plan.tensor_model_parallel_size = 2;
        expect_near(one, train(model, plan));
        plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads;
        plan.sequence_parallel = true;
        expect_near(one, train(model, plan));
    }
}

}  // namespace
}  // namespace orrery
