// SPDX-License-Identifier: Apache-2.0
#include "runtime/trainable.h"

#include <gtest/gtest.h>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

TEST(Trainable, NamesTheKeyOfWhatCannotBeTrained) {
    const auto key = [](const Transformer& model, const ParallelPlan& plan, std::int64_t ranks) {
        const Errors errors = check_trainable(model, plan, ranks);
        return errors.size() == 1 ? errors[0].where : std::to_string(errors.size()) + " errors";
    };
    const Transformer model = tiny_gpt();
    const ParallelPlan plan = tiny_plan();
    EXPECT_EQ(key(model, plan, 1), "0 errors");
    EXPECT_EQ(key(model, plan, 8), "0 errors");
    EXPECT_EQ(key(model, plan, 65), "0 errors");  // on GPUs
    EXPECT_EQ(key(model, plan, 1025), "cluster.nodes");
    ParallelPlan other = plan;
    other.precision = Dtype::fp8;
    EXPECT_EQ(key(model, other, 1), "plan.precision");
    other = plan;
    other.tensor_model_parallel_size = 2;
    EXPECT_EQ(key(model, other, 2), "0 errors");
    EXPECT_EQ(key(tiny_llama(), other, 2), "0 errors");  // two ranks share the key-value head
    Transformer odd = model;
    odd.num_query_groups = 1;
    odd.kv_channels = 7;
    EXPECT_EQ(key(odd, other, 2), "plan.tensor_model_parallel_size");
    other.tp_comm_overlap = true;
    EXPECT_EQ(key(model, other, 2), "0 errors");
    other.tp_comm_overlap_chunks = 3;
    EXPECT_EQ(key(model, other, 2), "plan.tp_comm_overlap_chunks");
    other = plan;
    other.optimizer = Optimizer::lamb;
    EXPECT_EQ(key(model, other, 1), "0 errors");
    other.gradient_dtype = Dtype::bf16;
    EXPECT_EQ(key(model, other, 1), "plan.gradient_dtype");
    other = plan;
    other.context_parallel_comm = ContextParallelComm::all_gather;
    EXPECT_EQ(key(model, other, 1), "0 errors");
    other.context_parallel_size = 2;
    EXPECT_EQ(key(model, other, 2), "plan.context_parallel_comm");
    other = plan;
    other.repeat_key_value_heads = true;
    EXPECT_EQ(key(model, other, 1), "plan.repeat_key_value_heads");
    other = plan;
    other.context_parallel_fp32_gradients = true;
    EXPECT_EQ(key(model, other, 1), "plan.context_parallel_fp32_gradients");
    other = plan;
    other.zero_quantized_gradients_uneven = true;
    EXPECT_EQ(key(model, other, 2), "0 errors");
    other.zero_quantized_gradients = true;
    EXPECT_EQ(key(model, other, 2), "plan.zero_quantized_gradients_uneven");
    other = plan;
    other.kept_logits = 2;
    EXPECT_EQ(key(model, other, 1), "plan.kept_logits");
    other = plan;
    other.pipeline_engine_groups = true;
    EXPECT_EQ(key(model, other, 1), "plan.pipeline_engine_groups");
    other = plan;
    other.recompute_granularity = Recompute::full;
    other.checkpoint_early_stop = true;
    EXPECT_EQ(key(model, other, 1), "0 errors");
    Transformer experts = tiny_llama();
    experts.num_experts = 4;
    experts.moe_router_topk = 2;
    other = plan;
    EXPECT_EQ(key(experts, other, 1), "0 errors");
    other.moe_router_load = RouterLoad::consecutive;
    EXPECT_EQ(key(experts, other, 1), "plan.moe_router_load");
}

TEST(Trainable, SpeaksOfTheCpuOnlyWhereItIsOne) {
    EXPECT_TRUE(check_cpu_ranks(64));
    const Result<void> many = check_cpu_ranks(65);
    ASSERT_FALSE(many);
    EXPECT_EQ(many.error().where, "cluster.nodes");
    EXPECT_NE(many.error().what.find("CPUs"), std::string::npos);
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::fp16;
    plan.gradient_dtype = Dtype::fp16;
    const Errors errors = check_trainable(tiny_gpt(), plan, 2000);
    EXPECT_EQ(errors.size(), 3u);
    for (const Error& error : errors) {
        EXPECT_EQ(error.what.find("CPU"), std::string::npos) << error.what;
    }
}

// What only a simulated step has beside the device.
TEST(Trainable, RefusesStateThatOnlySimulationsOffload) {
    const auto refused = [](auto change) {
        ParallelPlan plan = tiny_plan();
        plan.precision = Dtype::bf16;
        plan.optimizer_cpu_offload = true;
        change(plan);
        const Errors errors = check_trainable(tiny_gpt(), plan, 1);
        return errors.empty() ? std::string{} : errors[0].where;
    };
    EXPECT_EQ(refused([](ParallelPlan&) {}), "");
    EXPECT_EQ(refused([](ParallelPlan& p) { p.grad_offload_tier = StateTier::host; }),
              "plan.grad_offload_tier");
    EXPECT_EQ(refused([](ParallelPlan& p) { p.delayed_param_update = true; }),
              "plan.delayed_param_update");
    EXPECT_EQ(refused([](ParallelPlan& p) { p.optimizer_offload_fraction = 0.5; }),
              "plan.optimizer_offload_fraction");
    EXPECT_EQ(refused([](ParallelPlan& p) { p.param_offload_tier = StateTier::host; }),
              "plan.param_offload_tier");
    EXPECT_EQ(refused([](ParallelPlan& p) { p.offload_fp32_weights = true; }),
              "plan.offload_fp32_weights");
}

TEST(Trainable, GpusMoveWeightsAndGradientsAsTheyAre) {
    const auto key = [](auto change) {
        ParallelPlan plan = tiny_plan();
        change(plan);
        const Result<void> known = check_gpu_job(tiny_gpt(), plan);
        return known ? std::string{} : known.error().where;
    };
    EXPECT_EQ(key([](ParallelPlan&) {}), "");
    EXPECT_EQ(key([](ParallelPlan& p) { p.zero_quantized_weights = true; }),
              "plan.zero_quantized_weights");
    EXPECT_EQ(key([](ParallelPlan& p) { p.zero_quantized_gradients = true; }),
              "plan.zero_quantized_gradients");
    EXPECT_EQ(key([](ParallelPlan& p) { p.optimizer_cpu_offload = true; }),
              "plan.optimizer_cpu_offload");
}

// What is said to be trainable can be executed.
TEST(Trainable, MeansThatTheExecutorTakesIt) {
    for (int bits = 0; bits < 64; ++bits) {
        ParallelPlan plan = tiny_plan();
        plan.fused_norm = (bits & 1) != 0;
        plan.fused_activation = (bits & 2) != 0;
        plan.compiled = (bits & 4) != 0;
        plan.gradient_accumulation_fusion = (bits & 8) != 0;
        plan.precision = (bits & 16) != 0 ? Dtype::bf16 : Dtype::fp32;
        const Transformer model = (bits & 32) != 0 ? tiny_llama() : tiny_gpt();
        if (check_trainable(model, plan, 1).empty()) {
            TinyRun run{model, plan.launched_from_cpp()};
            run.executor().run_step();
            EXPECT_TRUE(std::isfinite(run.loss())) << bits;
        }
    }
}

}  // namespace
}  // namespace orrery
