// SPDX-License-Identifier: Apache-2.0
// Which tensor cores attention takes on the simulated device, whose kernels are the CPU's on all of
// them, and wrong where the test says so.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/attention/attention.h"
#include "runtime/cuda/cuda_executor.h"
#include "runtime/kernel_program.h"
#include "tests/runtime/cuda/simulated_training.h"

namespace orrery {
namespace {

using device::TensorCores;

// Heads of 64 in bf16.
Transformer model_for_tensor_cores() {
    Transformer model = tiny_llama();
    model.hidden_size = 64;
    model.ffn_hidden_size = 32;
    model.num_attention_heads = 2;
    model.kv_channels = 64;
    model.num_layers = 1;
    return model;
}

ParallelPlan half_precision() {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    return plan;
}

std::map<TensorCores, std::int64_t> attention_of(const Transformer& model,
                                                 const ParallelPlan& plan) {
    const TrainedRank gpu = train_rank(model, plan, DeviceChoice::cuda, nullptr);
    auto counts = simulated::counts().attention;
    EXPECT_EQ(gpu, train_rank(model, plan, DeviceChoice::cpu, nullptr));
    return counts;
}

// One layer, one kind of each pass: a trial is two runs for the results and eight for the time, and
// one without tensor cores.
TEST(CudaAttentionChoice, TriesBothAndTakesOne) {
    simulated::begin_device(1);
    auto runs = attention_of(model_for_tensor_cores(), half_precision());
    EXPECT_EQ(runs[TensorCores::none], 2);
    EXPECT_GE(runs[TensorCores::warps], 20);
    EXPECT_GE(runs[TensorCores::warpgroups], 20);
    EXPECT_GT(runs[TensorCores::warps] + runs[TensorCores::warpgroups], 40);
}

TEST(CudaAttentionChoice, TakesNothingThatIsWrong) {
    simulated::begin_device(1);
    simulated::break_attention(TensorCores::warpgroups);
    auto runs = attention_of(model_for_tensor_cores(), half_precision());
    EXPECT_EQ(runs[TensorCores::none], 2);
    EXPECT_EQ(runs[TensorCores::warpgroups], 20);
    EXPECT_GT(runs[TensorCores::warps], 20);

    simulated::begin_device(1);
    simulated::break_attention(TensorCores::warpgroups);
    simulated::break_attention(TensorCores::warps);
    runs = attention_of(model_for_tensor_cores(), half_precision());
    EXPECT_EQ(runs[TensorCores::warps], 20);
    EXPECT_EQ(runs[TensorCores::warpgroups], 20);
    EXPECT_GT(runs[TensorCores::none], 2);
}

std::map<TensorCores, std::int64_t> attention_without(const char* words) {
    simulated::begin_device(1);
    const Program program = lower(model_for_tensor_cores(), half_precision());
    EXPECT_TRUE(
        CudaExecutor::create(program, RankId{0}, nullptr, {.use = *cuda_features_without(words)}));
    return simulated::counts().attention;
}

TEST(CudaAttentionChoice, TriesNothingThatIsLeftOut) {
    auto runs = attention_without("wgmma");
    EXPECT_EQ(runs[TensorCores::warpgroups] + runs[TensorCores::short_warpgroups], 0);
    EXPECT_EQ(runs[TensorCores::warps], 20);
    runs = attention_without("mma");
    EXPECT_EQ(runs[TensorCores::warpgroups], 20);
    EXPECT_EQ(runs[TensorCores::warps], 0);
    runs = attention_without("mma,wgmma");
    EXPECT_EQ(runs[TensorCores::warpgroups] + runs[TensorCores::warps], 0);
}

// A choice is made again for other kernels, and for a part of them.
TEST(CudaAttentionChoice, IsRememberedForTheKernelsItWasMadeBetween) {
    simulated::begin_device(1);
    const Program program = lower(model_for_tensor_cores(), half_precision());
    const auto runs_of_trials = [&](const char* version, const char* without) {
        simulated::remember_choices(version);
        const auto before = simulated::counts().attention;
        EXPECT_TRUE(CudaExecutor::create(
            program, RankId{0}, nullptr, {.use = *cuda_features_without(without)}));
        auto after = simulated::counts().attention;
        for (const auto& [cores, runs] : before) {
            after[cores] -= runs;
        }
        return after[TensorCores::warps];
    };
    EXPECT_EQ(runs_of_trials("0a", ""), 20);
    EXPECT_EQ(runs_of_trials("0a", ""), 0);
    EXPECT_EQ(runs_of_trials("0b", ""), 20);
    EXPECT_EQ(runs_of_trials("0b", "wgmma"), 20);
    EXPECT_EQ(runs_of_trials("0b", "wgmma"), 0);
    EXPECT_EQ(runs_of_trials("0a", ""), 0);
}

// Short tiles are for the forward pass of heads of 64.
TEST(CudaAttentionChoice, TriesShortTilesWhereThereAreTwoSizes) {
    simulated::begin_device(1);
    auto runs = attention_of(model_for_tensor_cores(), half_precision());
    EXPECT_GE(runs[TensorCores::short_warpgroups], 10);
    simulated::begin_device(1);
    Transformer model = model_for_tensor_cores();
    model.hidden_size = 128;
    model.kv_channels = 128;
    runs = attention_of(model, half_precision());
    EXPECT_GE(runs[TensorCores::warpgroups], 20);
    EXPECT_EQ(runs.count(TensorCores::short_warpgroups), 0u);
}

// What is wrong is not hidden by the kernels that run for it.
TEST(CudaAttentionChoice, TellsWhatIsWrong) {
    simulated::begin_device(1);
    simulated::break_attention(TensorCores::warpgroups);
    std::vector<std::string> notes;
    train_rank(model_for_tensor_cores(), half_precision(), DeviceChoice::cuda, nullptr, &notes);
    const auto count = [&](const std::string& way, const std::string& verdict) {
        return std::ranges::count_if(notes, [&](const std::string& note) {
            return note.find("tried attention_") != note.npos &&
                   note.find(", " + way) != note.npos && note.find(verdict) != note.npos;
        });
    };
    EXPECT_EQ(count("wgmma", "WRONG"), 2) << "forward and backward";
    EXPECT_EQ(count("mma.sync", ": taken"), 2);
    const AttentionShape shape{
        .batch = 1, .seq_q = 16, .seq_kv = 16, .heads = 2, .kv_heads = 2, .head_dim = 64};
    simulated::begin_device(1);
    simulated::break_attention(TensorCores::warpgroups);
    KernelNotes of_kernel;
    const auto compared = compare_kernel(
        attention_forward(shape, Dtype::bf16), DeviceChoice::cuda, DeviceChoice::cpu, &of_kernel);
    ASSERT_TRUE(compared) << compared.error().to_string();
    EXPECT_LT(*compared, 1e-2);
    ASSERT_EQ(of_kernel.wrong_ways.size(), 1u);
    EXPECT_NE(of_kernel.wrong_ways[0].find("wgmma"), std::string::npos);
    EXPECT_FALSE(of_kernel.notes.empty());
}

TEST(CudaAttentionChoice, IsNoneWhereThereAreNoSuchKernels) {
    simulated::begin_device(1);
    ParallelPlan plan = half_precision();
    plan.precision = Dtype::fp32;
    const auto runs = attention_of(model_for_tensor_cores(), plan);
    EXPECT_EQ(runs.size(), 1u);
    EXPECT_TRUE(runs.contains(TensorCores::none));
}

// A ring's steps are kinds of their own, with and without what they add to.
TEST(CudaAttentionChoice, IsMadeForTheStepsOfARing) {
    ParallelPlan plan = half_precision();
    plan.context_parallel_size = 2;
    plan.context_parallel_comm = ContextParallelComm::ring;
    std::vector<TrainedRank> gpu(2);
    run_as_ranks(2, [&](std::unique_ptr<Transport> transport) {
        simulated::begin_device(3 + transport->rank());
        const std::uint32_t rank = transport->rank();
        gpu[rank] = train_rank(model_for_tensor_cores(), plan, DeviceChoice::cuda, transport.get());
        EXPECT_EQ(simulated::counts().attention.at(TensorCores::none), 4);
    });
    std::vector<TrainedRank> cpu(2);
    run_as_ranks(2, [&](std::unique_ptr<Transport> transport) {
        const std::uint32_t rank = transport->rank();
        cpu[rank] = train_rank(model_for_tensor_cores(), plan, DeviceChoice::cpu, transport.get());
    });
    EXPECT_EQ(gpu, cpu);
}

}  // namespace
}  // namespace orrery
