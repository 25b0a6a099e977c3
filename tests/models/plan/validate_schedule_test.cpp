// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_schedule.h"

#include <gtest/gtest.h>

#include "models/plan/validate_plan.h"
#include "tests/models/expert_models.h"

namespace orrery {
namespace {

bool complains(const Errors& errors, std::string_view where, std::string_view what) {
    for (const Error& error : errors) {
        if (error.where == where && error.what.find(what) != std::string::npos) {
            return true;
        }
    }
    return false;
}

ParallelPlan dual_plan(std::int64_t stages, std::int64_t micro_batches) {
    return {.pipeline_model_parallel_size = stages,
            .global_batch_size = micro_batches,
            .schedule = ScheduleKind::dual_pipe};
}

TEST(ValidateSchedule, DualPipeWantsHalvesAndEnoughMicroBatches) {
    const Transformer model = small_experts();
    EXPECT_TRUE(complains(check_schedule(model, dual_plan(3, 12), 3),
                          "plan.pipeline_model_parallel_size",
                          "3 stages have no two halves"));
    EXPECT_TRUE(complains(check_schedule(model, dual_plan(4, 6), 4),
                          "plan.global_batch_size",
                          "needs 8 micro-batches, and there are 6"));
    EXPECT_TRUE(
        complains(check_schedule(model, dual_plan(4, 9), 4), "plan.global_batch_size", "halves 9"));
    // Without a data-parallel rank there is nothing to say of micro-batches.
    EXPECT_FALSE(complains(
        check_schedule(model, dual_plan(4, 6), 3), "plan.global_batch_size", "micro-batch"));
}

TEST(ValidateSchedule, DualPipeSaysWhatItCantDo) {
    Transformer model = small_experts();
    ParallelPlan plan = dual_plan(4, 8);
    EXPECT_TRUE(
        complains(check_schedule(model, plan, 4), "plan.overlap_p2p", "run beside its passes"));
    plan.overlap_p2p = true;
    model.tied_embeddings = false;
    EXPECT_TRUE(check_schedule(model, plan, 4).empty());
    model.tied_embeddings = true;
    EXPECT_TRUE(complains(check_schedule(model, plan, 4),
                          "model.untie_embeddings_and_output_weights",
                          "two copies each"));
    plan.schedule = ScheduleKind::dual_pipe_v;
    EXPECT_TRUE(complains(check_schedule(model, plan, 4),
                          "plan.virtual_pipeline_model_parallel_size",
                          "two chunks a stage, not 1"));
    plan.virtual_pipeline_model_parallel_size = 2;
    EXPECT_TRUE(check_schedule(model, plan, 4).empty());
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    EXPECT_TRUE(complains(check_schedule(model, plan, 4),
                          "plan.data_parallel_sharding_strategy",
                          "the other's layers"));
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    plan.stage_tensor_model_parallel_sizes = {1, 1, 1, 1};
    EXPECT_TRUE(complains(check_schedule(model, plan, 4),
                          "plan.stage_tensor_model_parallel_sizes",
                          "both ends of the model"));
}

TEST(ValidateSchedule, FlushesShareMicroBatchesOfAPipeline) {
    const Transformer model = small_experts();
    ParallelPlan plan{
        .pipeline_model_parallel_size = 2, .global_batch_size = 12, .pipeline_flushes = 3};
    EXPECT_TRUE(check_schedule(model, plan, 2).empty());
    plan.pipeline_flushes = 5;
    EXPECT_TRUE(complains(check_schedule(model, plan, 2),
                          "plan.pipeline_flushes",
                          "5 do not divide 12 micro-batches"));
    plan.pipeline_flushes = 3;
    plan.overlap_moe_expert_parallel_comm = true;
    EXPECT_TRUE(complains(check_schedule(model, plan, 2), "plan.pipeline_flushes", "in pairs"));
    plan.overlap_moe_expert_parallel_comm = false;
    plan.pipeline_model_parallel_size = 1;
    EXPECT_TRUE(complains(check_schedule(model, plan, 1), "plan.pipeline_flushes", "one stage"));
}

TEST(ValidateSchedule, ModulesBehindTheLastLayerAreNotGatheredByUnit) {
    Transformer model = small_experts();
    model.mtp_num_layers = 1;
    ParallelPlan plan;
    EXPECT_TRUE(check_schedule(model, plan, 1).empty());
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    EXPECT_TRUE(complains(check_schedule(model, plan, 1), "model.mtp_num_layers", "by unit"));
    plan.zero_quantized_gradients = true;
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    EXPECT_TRUE(complains(check_schedule(model, plan, 1), "plan.zero_quantized_gradients", "int4"));
}

TEST(ValidateSchedule, PartsAreOfOutputsThatAreKeptAndSentInParts) {
    const Transformer model = small_experts();
    ParallelPlan plan{.partition_pipeline_outputs = true};
    EXPECT_TRUE(complains(
        check_schedule(model, plan, 1), "plan.partition_pipeline_outputs", "frees its output"));
    plan.deallocate_pipeline_outputs = false;
    EXPECT_TRUE(check_schedule(model, plan, 1).empty());
    plan.scatter_gather_tensors_in_pipeline = false;
    EXPECT_TRUE(complains(check_schedule(model, plan, 1),
                          "plan.partition_pipeline_outputs",
                          "sends its whole output"));
}

}  // namespace
}  // namespace orrery
