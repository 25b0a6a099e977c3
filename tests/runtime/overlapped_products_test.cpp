// SPDX-License-Identifier: Apache-2.0
// Products in pieces beside the exchanges of what they read or write train what whole ones train.
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

constexpr std::int64_t kBatchSize = 2;

ParallelPlan alone() {
    ParallelPlan plan = plan_of(1, 1, ShardingStrategy::no_shard);
    plan.global_batch_size = kBatchSize;
    return plan;
}

ParallelPlan overlapped(std::int64_t tp, std::int64_t chunks) {
    ParallelPlan plan = plan_of(1, 1, ShardingStrategy::no_shard);
    plan.tensor_model_parallel_size = tp;
    plan.global_batch_size = kBatchSize;
    plan.sequence_parallel = true;
    plan.tp_comm_overlap = true;
    plan.tp_comm_overlap_chunks = chunks;
    return plan;
}

Transformer four_heads(Transformer model) {
    model.num_attention_heads = 4;
    model.num_query_groups = 4;
    model.kv_channels = 4;
    return model;
}

TEST(OverlappedProducts, TrainWhatOneRankTrainsToTheSameBitsEachTime) {
    Transformer block = four_heads(tiny_gpt());
    block.parallel_block = true;
    for (const Transformer& model : {four_heads(tiny_gpt()), four_heads(tiny_llama()), block}) {
        const Training one = train(model, alone());
        for (const auto& [tp, chunks] : {std::pair{2, 4}, std::pair{4, 2}}) {
            SCOPED_TRACE(testing::Message() << "tp " << tp << ", chunks " << chunks);
            const Training many = train(model, overlapped(tp, chunks));
            expect_near(one, many);
            if (tp == 2) {
                EXPECT_EQ(many, train(model, overlapped(tp, chunks)));
            }
        }
    }
}

TEST(OverlappedProducts, GoWithEverythingElse) {
    Transformer model = four_heads(tiny_gpt());
    model.num_layers = 4;
    model.seq_length = 16;
    const Training one = train(model, alone());
    ParallelPlan split = overlapped(2, 4);
    split.pipeline_model_parallel_size = 2;
    split.schedule = ScheduleKind::zero_bubble;
    ParallelPlan sharded = overlapped(2, 2);
    sharded.data_parallel_size = 2;
    sharded.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    sharded.recompute_granularity = Recompute::full;
    ParallelPlan ring = overlapped(2, 2);
    ring.context_parallel_size = 2;
    ParallelPlan exchange = ring;
    exchange.context_parallel_comm = ContextParallelComm::all_to_all;
    ParallelPlan unfused = overlapped(2, 4);
    unfused.attention_kernel = AttentionKernel::unfused;
    unfused.recompute_granularity = Recompute::selective;
    for (const ParallelPlan& plan : {split, sharded, ring, exchange, unfused}) {
        expect_near(one, train(model, plan));
    }
}

}  // namespace
}  // namespace orrery
