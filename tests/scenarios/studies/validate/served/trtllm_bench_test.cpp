// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/trtllm_bench.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

ServingCase row_of(const char* engine, double input, double output) {
    ServingCase row;
    row.engine = engine;
    row.load = "offline";
    row.input_tokens = input;
    row.output_tokens = output;
    return row;
}

// 32 layers, 8 key-value heads of 128 elements: 128 KiB of cache a token in 16 bits.
Transformer llama_8b() {
    return {.name = "llama-3-8b",
            .num_layers = 32,
            .hidden_size = 4096,
            .ffn_hidden_size = 14336,
            .num_attention_heads = 32,
            .num_query_groups = 8,
            .kv_channels = 128,
            .vocab_size = 128256,
            .activation = Activation::swiglu};
}

TEST(TrtllmBench, CountsRequestsByLengths) {
    EXPECT_EQ(trtllm_bench_requests(row_of("trtllm-0.14", 128, 4096)), 1500);
    EXPECT_EQ(trtllm_bench_requests(row_of("trtllm-0.14", 300, 300)), 0);
    EXPECT_TRUE(is_trtllm_bench(row_of("trtllm-0.14", 1, 1)));
    EXPECT_FALSE(is_trtllm_bench(row_of("trtllm-mlperf-v5.1", 1, 1)));
    EXPECT_FALSE(is_trtllm_bench(row_of("vllm-0.19.0", 1, 1)));
}

TEST(TrtllmBench, ReadsTheListUpTo014) {
    Transformer model = llama_8b();
    model.name = "llama-3-70b";
    ServingPlan plan{.tensor_model_parallel_size = 2};
    const DeviceSpec device{.memory = Bytes{80'000'000'000}};
    EXPECT_EQ(trtllm_bench_limits(row_of("trtllm-0.14", 128, 128), model, plan, device),
              (EngineLimits{256, 1024}));
    EXPECT_EQ(trtllm_bench_limits(row_of("trtllm-0.14", 2048, 2048), model, plan, device),
              (EngineLimits{2048, 1024}));
    model.name = "another";
    EXPECT_FALSE(trtllm_bench_limits(row_of("trtllm-0.14", 128, 128), model, plan, device));
}

TEST(TrtllmBench, SizesStepsByTheCacheFrom015On) {
    const Transformer model = llama_8b();
    const ServingPlan plan{};
    const DeviceSpec device{.memory = Bytes{80'000'000'000}};
    // 16 GB of weights leave 0.95 x 64 GB for 2,048 tokens of 131,072 bytes: some 226 sequences.
    const auto limits = trtllm_bench_limits(row_of("trtllm-1.0", 1024, 1024), model, plan, device);
    ASSERT_TRUE(limits);
    EXPECT_EQ(limits->max_num_seqs, 256);
    EXPECT_EQ(limits->max_num_batched_tokens, 2048);
    // Prompts 15 times as long as outputs: 16 tokens a sequence and step, in units of 256.
    const auto longer = trtllm_bench_limits(row_of("trtllm-0.17", 1920, 128), model, plan, device);
    ASSERT_TRUE(longer);
    EXPECT_EQ(longer->max_num_seqs, 256);
    EXPECT_EQ(longer->max_num_batched_tokens, 3840);
}

}  // namespace
}  // namespace orrery
