// SPDX-License-Identifier: Apache-2.0
// The executor of a GPU on a simulated device (simulated_device.h): whatever order streams and
// events leave open, its steps must have the bits of the CPU executor's.
#include "runtime/cuda/cuda_executor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/cuda/simulated_training.h"

namespace orrery {
namespace {

TEST(CudaExecutor, TrainsToTheBitsOfTheCpu) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        for (const Transformer& model : {tiny_gpt(), tiny_llama()}) {
            ParallelPlan plan = tiny_plan();
            plan.precision = precision;
            simulated::begin_device(7);
            const TrainedRank gpu = train_rank(model, plan, DeviceChoice::cuda, nullptr);
            EXPECT_GT(simulated::counts().graph_launches, 10);
            EXPECT_EQ(gpu, train_rank(model, plan, DeviceChoice::cpu, nullptr));
            EXPECT_NE(gpu.losses.back(), gpu.losses.front());
        }
    }
}

TEST(CudaExecutor, RanksTrainToTheBitsOfProcessesOnTheCpu) {
    std::vector<ParallelCase> cases = parallel_cases();
    std::ranges::copy(deep_pipelines(), std::back_inserter(cases));
    for (const ParallelCase& c : cases) {
        const std::vector<TrainedRank> cpu = train_ranks(c.plan, DeviceChoice::cpu, 0, c.model);
        EXPECT_EQ(train_ranks(c.plan, DeviceChoice::cuda, 1, c.model), cpu) << c.name;
    }
}

// Heads of an even and of an odd number of columns a rank.
TEST(CudaExecutor, RanksThatShareAKeyValueHeadTrainToTheBitsOfTheCpu) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        for (const std::int64_t channels : {8, 6}) {
            Transformer model = tiny_llama();
            model.kv_channels = channels;
            ParallelPlan plan = tiny_plan();
            plan.precision = precision;
            plan.tensor_model_parallel_size = 2;
            plan.sequence_parallel = channels == 8;
            plan.context_parallel_size = channels == 8 ? 1 : 2;
            EXPECT_EQ(train_ranks(plan, DeviceChoice::cuda, 1, model),
                      train_ranks(plan, DeviceChoice::cpu, 0, model));
        }
    }
}

TEST(CudaExecutor, TrainsByLambToTheBitsOfTheCpu) {
    for (const ShardingStrategy strategy :
         {ShardingStrategy::no_shard, ShardingStrategy::optim_grads_params}) {
        ParallelPlan plan = tiny_plan();
        plan.optimizer = Optimizer::lamb;
        plan.precision = Dtype::bf16;
        plan.data_parallel_size = 2;
        plan.data_parallel_sharding_strategy = strategy;
        EXPECT_EQ(train_ranks(plan, DeviceChoice::cuda, 1),
                  train_ranks(plan, DeviceChoice::cpu, 0));
    }
}

// Of bf16 weights without master copies, whole, in columns and rows, and in shards.
TEST(CudaExecutor, RoundsStochasticallyToTheBitsOfTheCpu) {
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::lamb}) {
        ParallelPlan plan = tiny_plan();
        plan.optimizer = optimizer;
        plan.precision = plan.main_params_dtype = Dtype::bf16;
        plan.bf16_stochastic_round = true;
        plan.data_parallel_size = 2;
        EXPECT_EQ(train_ranks(plan, DeviceChoice::cuda, 1),
                  train_ranks(plan, DeviceChoice::cpu, 0));
        plan.tensor_model_parallel_size = 2;
        plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
        EXPECT_EQ(train_ranks(plan, DeviceChoice::cuda, 1, tiny_llama()),
                  train_ranks(plan, DeviceChoice::cpu, 0, tiny_llama()));
    }
}

// Heads of their own, shared keys and values, several sequences; the groups of a rank.
TEST(CudaExecutor, TrainsUnfusedAttentionToTheBitsOfTheCpu) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        for (Transformer model : {tiny_gpt(), tiny_llama()}) {
            model.num_attention_heads = 4;
            model.kv_channels = 4;
            model.dropout = 0.1;
            ParallelPlan plan = tiny_plan();
            plan.precision = precision;
            plan.attention_kernel = AttentionKernel::unfused;
            for (const std::int64_t groups : {1, 2, 4}) {
                model.num_query_groups = groups;
                simulated::begin_device(8);
                EXPECT_EQ(train_rank(model, plan, DeviceChoice::cuda, nullptr),
                          train_rank(model, plan, DeviceChoice::cpu, nullptr));
            }
        }
    }
    ParallelPlan plan = tiny_plan();
    plan.attention_kernel = AttentionKernel::unfused;
    plan.tensor_model_parallel_size = 2;
    EXPECT_EQ(train_ranks(plan, DeviceChoice::cuda, 1), train_ranks(plan, DeviceChoice::cpu, 0));
}

TEST(CudaExecutor, TooLittleMemorySaysHowMuchIsMissing) {
    simulated::begin_device(1);
    simulated::limit_memory(1000);
    const Program program = lower(tiny_gpt(), tiny_plan());
    const auto executor = CudaExecutor::create(program, RankId{0}, nullptr, {});
    ASSERT_FALSE(executor);
    EXPECT_NE(executor.error().what.find("GiB"), std::string::npos) << executor.error().what;
    EXPECT_NE(executor.error().hint.find("plan.micro_batch_size"), std::string::npos)
        << executor.error().hint;
}

TEST(CudaExecutor, AGpuThatIsNotThereIsAnError) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const auto executor = CudaExecutor::create(program, RankId{0}, nullptr, {.ordinal = 3});
    ASSERT_FALSE(executor);
    EXPECT_NE(executor.error().what.find("GPU 3"), std::string::npos);
}

}  // namespace
}  // namespace orrery
