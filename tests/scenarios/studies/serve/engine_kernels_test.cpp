// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/engine_kernels.h"

#include <gtest/gtest.h>

#include <fstream>

#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/grouped_gemm.h"
#include "models/serving/cached_attention.h"

namespace orrery {
namespace {

TEST(EngineKernels, ATableOfSlowKernelsNamesTheirShares) {
    const std::string file = testing::TempDir() + "/engine_kernels.csv";
    const auto read = [&](const std::string& row) {
        std::ofstream{file} << "engine,kernels,bits,share,generation\n" << row << "\n";
        return read_engine_kernels(
            file, {.engine = "mine", .generation = "hopper", .device = "h200", .bits = 8});
    };
    EXPECT_EQ(read("mine,expert_rows,8,0.25,")->expert_rows, 0.25);
    EXPECT_EQ(read("mine,expert_weights,8,0.5,")->expert_weights, 0.5);
    EXPECT_EQ(read("mine,scaled_casts,8,1,")->scaled_casts, 1);
    EXPECT_EQ(read("mine,vector_weights,8,0.7,")->vector_weights, 0.7);
    EXPECT_EQ(read("mine,expert_rows,4,0.25,")->expert_rows, 0);
    EXPECT_EQ(read("other,expert_rows,8,0.25,")->expert_rows, 0);
    EXPECT_EQ(read("mine,expert_rows,8,0.25,hopper")->expert_rows, 0.25);
    EXPECT_EQ(read("mine,expert_rows,8,0.25,blackwell")->expert_rows, 0);
    EXPECT_EQ(read("mine,expert_rows,8,0.25,hopper\nmine,expert_rows,8,0.2,h200")->expert_rows,
              0.2);
    EXPECT_EQ(read("mine,expert_rows,8,0.25,h100-80g")->expert_rows, 0);
    for (const char* const row : {"mine,rows,8,0.5,",
                                  "mine,expert_rows,8,0,",
                                  "mine,expert_rows,8,1.5,",
                                  "mine,expert_rows,8,-1,",
                                  "mine,expert_rows,8,x,",
                                  "mine,expert_rows,few,0.5,"}) {
        const auto failed = read(row);
        ASSERT_FALSE(failed) << row;
        EXPECT_EQ(failed.error().where, file + ":2");
    }
    EXPECT_FALSE(read_engine_kernels(testing::TempDir() + "/none.csv", {}));
}

TEST(EngineKernels, ReleaseOneOfTensorRtLlmHasThoseOfLaterOnes) {
    for (const auto precision :
         {ProductPrecision::bf16, ProductPrecision::fp8, ProductPrecision::fp4}) {
        for (const char* const generation : {"hopper", "blackwell"}) {
            const auto first = engine_kernels("tensorrt-llm-1.0", precision, generation).value();
            const auto later = engine_kernels("tensorrt-llm-1", precision, generation).value();
            EXPECT_EQ(first.expert_weights, later.expert_weights);
            EXPECT_EQ(first.expert_rows, later.expert_rows);
            EXPECT_GT(first.expert_rows, 0);
            EXPECT_EQ(first.scaled_casts, later.scaled_casts);
        }
    }
}

TEST(EngineKernels, AVectorProductReadsItsWeightsAtItsShareOfTheBandwidth) {
    DeviceSpec device;
    device.memory_bandwidth = Bandwidth::bytes_per_second(600'000'000'000);
    device.kernel_latency = Time::seconds(2e-6);
    device.peak_fp32 = FlopRate::per_second(13e12);
    EngineKernels kernels;
    kernels.vector_weights = 0.5;
    const auto of_rows = [](std::int64_t rows) {
        return gemm(rows, 8192, 8192, 1, Dtype::fp16, GemmEpilogue::none, Dtype::fp16);
    };
    const KernelCall row = of_rows(1);
    const auto time = vector_product_time(kernels, row, device);
    ASSERT_TRUE(time);
    EXPECT_NEAR(time->seconds(), static_cast<double>(row.bytes) / 300e9 + 2e-6, 1e-9);
    EXPECT_FALSE(vector_product_time({}, row, device));
    EXPECT_TRUE(vector_product_time(kernels, of_rows(kVectorRows), device));
    EXPECT_FALSE(vector_product_time(kernels, of_rows(kVectorRows + 1), device));
    // A processor of few FLOP is bound by them.
    device.peak_fp32 = FlopRate::per_second(0.1e12);
    EXPECT_NEAR(
        vector_product_time(kernels, row, device)->seconds(), row.flop / 0.1e12 + 2e-6, 1e-9);
}

TEST(EngineKernels, OneAttentionKernelTakesThePlaceOfTwo) {
    const KernelCall generating = attention_forward(
        {.batch = 64, .seq_q = 1, .seq_kv = 1000, .heads = 32, .kv_heads = 8, .head_dim = 128},
        Dtype::bf16);
    const KernelCall prompt = attention_forward(
        {.batch = 1, .seq_q = 512, .seq_kv = 512, .heads = 32, .kv_heads = 8, .head_dim = 128},
        Dtype::bf16);
    std::vector<ServingOp> ops{{.name = "qkv", .work = generating},
                               {.name = kDecodeAttention, .work = generating},
                               {.name = kPromptAttention, .work = prompt}};
    join_attention(ops);
    ASSERT_EQ(ops.size(), 2U);
    EXPECT_EQ(ops[1].name, kPromptAttention);
    EXPECT_GT(std::get<KernelCall>(ops[1].work).flop, prompt.flop);
    // A step without prompts keeps its own kernel.
    ops = {{.name = kDecodeAttention, .work = generating}, {.name = "projection", .work = prompt}};
    join_attention(ops);
    EXPECT_EQ(ops.size(), 2U);
}

TEST(EngineKernels, WholePromptsAreReadWhereTheStepMadeThem) {
    const AttentionShape whole{.seq_q = 512, .seq_kv = 512};
    const AttentionShape cached{.seq_q = 512, .seq_kv = 2048};
    EXPECT_FALSE(reads_paged_cache("vllm_v0", whole));
    EXPECT_TRUE(reads_paged_cache("vllm_v0", cached));
    for (const char* const chunks : {"sarathi", "vllm_v1", "sglang"}) {
        EXPECT_TRUE(reads_paged_cache(chunks, whole)) << chunks;
    }
}

// 2,048 queries of eight heads are 256 blocks: of 108 SMs some have three, 2.37 in the mean.
TEST(EngineKernels, BlocksOverACachedBeginningAreUnevenlySpread) {
    AttentionShape chunk{.seq_q = 2048, .seq_kv = 2048, .heads = 8};
    EXPECT_EQ(uneven_blocks(chunk, 108), 1.0);  // nothing cached
    chunk.seq_kv = 2'000'000;
    EXPECT_NEAR(uneven_blocks(chunk, 108), 3 / (256.0 / 108), 0.001);
    EXPECT_NEAR(uneven_blocks(chunk, 128), 1.0, 1e-9);
    // Half of the pairs are of the beginning.
    chunk.seq_kv = 2048 + 1024;
    EXPECT_NEAR(uneven_blocks(chunk, 108), 1 + 0.5 * (3 * 108 / 256.0 - 1), 0.001);
    // The curves know that 64 blocks of 128 queries leave SMs idle.
    chunk.seq_q = 1024;
    chunk.seq_kv = 2'000'000;
    EXPECT_NEAR(uneven_blocks(chunk, 108), 1.0, 1e-9);
}

// Equal loads fill their last block; with unequal ones half a block is empty in the mean.
TEST(EngineKernels, ExpertsFillBlocksOfRows) {
    const auto filled = [](std::initializer_list<std::int64_t> rows) {
        const std::vector<std::int64_t> groups{rows};
        return filled_blocks(grouped_gemm({.rows = groups, .n = 1024, .k = 1024}));
    };
    EXPECT_EQ(filled({4, 4}), 4.0);
    EXPECT_EQ(filled({40, 40}), 1.6);
    EXPECT_EQ(filled({64, 64}), 1.0);
    EXPECT_EQ(filled({160, 160}), 1.2);
    EXPECT_EQ(filled({40, 280}), 1.2);  // 160 in the mean, 32 of them empty
}

TEST(EngineKernels, ProductsOfExpertsOnAGenerationReplaceTheEnginesPeak) {
    const KernelCall plain = grouped_gemm(8, 512, 1024, 1024, Dtype::bf16, Dtype::bf16);
    const KernelCall scaled = grouped_gemm(8, 512, 1024, 1024, Dtype::fp8, Dtype::bf16, true);
    const ServingEngine engine{
        .expert_peak = 0.5, .scaled_expert_peak = 0.3, .unpacked_expert_peak = 0.6};
    const EngineKernels known{.expert_products = 0.2, .scaled_expert_products = 0.1};
    EXPECT_EQ(expert_peak(engine, {}, plain, false), 0.5);
    EXPECT_EQ(expert_peak(engine, known, plain, false), 0.2);
    EXPECT_EQ(expert_peak(engine, known, plain, true), 0.6);
    EXPECT_EQ(expert_peak(engine, {}, scaled, false), 0.3);
    EXPECT_EQ(expert_peak(engine, known, scaled, false), 0.1);
    EXPECT_EQ(expert_peak({}, known, scaled, false), 0);
}

// 16 rows take 16 operations for each byte of keys and values of 16 bits.
TEST(EngineKernels, SmallTilesWaitForTheCache) {
    const KernelCall prompts = attention_forward(
        {.batch = 1, .seq_q = 4096, .seq_kv = 4096, .heads = 8, .kv_heads = 8, .head_dim = 64},
        Dtype::bf16);
    DeviceSpec device;
    device.num_sms = 100;
    ServingEngine engine;
    EXPECT_EQ(least_tile_time(engine, {}, prompts, device), Time{});
    engine.attention_tile_rows = 16;
    const double due = prompts.flop / (16 * 42e9 * 100);
    EXPECT_NEAR(least_tile_time(engine, {}, prompts, device).seconds() / due, 1, 1e-6);
    const ServingPlan eight{.key_value_precision = Dtype::fp8};
    EXPECT_NEAR(least_tile_time(engine, eight, prompts, device).seconds() / due, 0.5, 1e-6);
}

}  // namespace
}  // namespace orrery
