// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/serving_set_up.h"

#include <gtest/gtest.h>

#include "tests/models/known_models.h"

namespace orrery {
namespace {

ServingCase closed_row() {
    ServingCase row;
    row.engine = "vllm-0.11.2";
    row.gpu = "h200";
    row.weight_precision = "fp8";
    row.key_value_precision = "fp8";
    row.mode = "aggregated";
    row.load = "closed";
    row.tensor_parallel = 8;
    row.concurrency = 64;
    row.input_tokens = 1024;
    row.output_tokens = 128;
    return row;
}

Result<ServingSetUp> set_up(const ServingCase& row,
                            const PublishedModel& model = PublishedModel{
                                llama(80, 8192, 28672, 8, 128256)}) {
    return set_up_of(row, model, ORRERY_SOURCE_DIR "/scenarios/catalogue", "nowhere");
}

const PublishedModel& published_model(const char* name) {
    static const auto models =
        read_served_models(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/serving_models.csv")
            .value();
    return *served_model(models, name);
}

TEST(ServingSetUp, ARowIsAScenario) {
    const ServingSetUp set = set_up(closed_row()).value();
    EXPECT_EQ(set.scenario.cluster.num_ranks(), 8U);
    EXPECT_EQ(set.scenario.workload.users, 64);
    EXPECT_EQ(set.requests.size(), 640U);
    const ServingPoolSpec& pool = set.scenario.serving.pools.front();
    EXPECT_EQ(pool.plan.precision, ProductPrecision::fp8);
    EXPECT_EQ(pool.plan.weight_bits, 8);
    EXPECT_EQ(pool.limits.max_num_seqs, 1024);
}

// FP4 weights on a device without FP4 are unpacked for products in 16 bits.
TEST(ServingSetUp, FourBitWeights) {
    ServingCase row = closed_row();
    row.weight_precision = "fp4";
    EXPECT_EQ(set_up(row)->scenario.serving.pools[0].plan.precision, ProductPrecision::bf16);
    EXPECT_EQ(set_up(row)->scenario.serving.pools[0].plan.weight_bits, 4);
    row.gpu = "b200";
    EXPECT_EQ(set_up(row)->scenario.serving.pools[0].plan.precision, ProductPrecision::fp4);
}

// FP8 weights of DeepSeek-R1 have block scales.
TEST(ServingSetUp, ModelsSayHowTheirWeightsAreScaled) {
    const ServingCase row = closed_row();
    EXPECT_FALSE(has_block_scales(row, published_model("llama-3-70b")));
    EXPECT_TRUE(has_block_scales(row, published_model("deepseek-v3")));
    EXPECT_TRUE(has_block_scales(row, published_model("minimax-m2.5")));
    PublishedModel model{llama(80, 8192, 28672, 8, 128256)};
    EXPECT_FALSE(set_up(row, model)->scenario.serving.pools[0].plan.block_scaled);
    model.fp8_block_scales = BlockScales::all;
    EXPECT_TRUE(set_up(row, model)->scenario.serving.pools[0].plan.block_scaled);
    ServingCase four_bits = row;
    four_bits.weight_precision = "fp4";
    EXPECT_FALSE(set_up(four_bits, model)->scenario.serving.pools[0].plan.block_scaled);
}

// Qwen's own FP8 checkpoints have block scales.
TEST(ServingSetUp, SourcesSayWhichWeightsAreMeant) {
    ServingCase row = closed_row();
    EXPECT_FALSE(has_block_scales(row, published_model("qwen3-32b")));
    row.source = "GPUStack documentation";
    EXPECT_TRUE(has_block_scales(row, published_model("qwen3-32b")));
    EXPECT_FALSE(has_block_scales(row, published_model("llama-3-70b")));
}

TEST(ServingSetUp, AttentionOfACheckpointMayKeep16Bits) {
    ServingCase row = closed_row();
    const auto keeps = [&] {
        return set_up(row)->scenario.serving.pools[0].plan.attention_in_16_bits;
    };
    EXPECT_FALSE(keeps());
    row.attention_in_16_bits = true;
    EXPECT_TRUE(keeps());
    row.weight_precision = "bf16";
    EXPECT_FALSE(keeps());
}

TEST(ServingSetUp, AttentionOfFp4CheckpointsMayKeep16Bits) {
    ServingCase row = closed_row();
    EXPECT_FALSE(keeps_attention_in_16_bits(row, published_model("deepseek-r1")));
    row.weight_precision = "fp4";
    EXPECT_TRUE(keeps_attention_in_16_bits(row, published_model("deepseek-r1")));
    EXPECT_TRUE(keeps_attention_in_16_bits(row, published_model("gpt-oss-20b")));
    EXPECT_FALSE(keeps_attention_in_16_bits(row, published_model("llama-3.3-70b")));
}

// Models whose routers have biases load their experts less unequally than others do.
TEST(ServingSetUp, ModelsSayHowTheirExpertsAreLoaded) {
    ServingCase row = closed_row();
    row.weight_precision = "bf16";
    const auto skew = [&](const PublishedModel& model) {
        return set_up(row, model)->scenario.serving.pools[0].plan.expert_skew;
    };
    EXPECT_EQ(skew(published_model("llama-3-70b")), 0);
    EXPECT_EQ(skew(published_model("mixtral-8x7b")), 1.2);
    for (const char* name : {"minimax-m2.5", "deepseek-r1", "kimi-k2.5"}) {
        EXPECT_EQ(published_model(name).expert_load_alpha, 1.01) << name;
    }
}

TEST(ServingSetUp, ModelsSayHowQueriesAndKeysAreNormed) {
    ServingCase row = closed_row();
    row.weight_precision = "bf16";
    const auto all_heads = [&](const char* name) {
        return set_up(row, published_model(name))->scenario.serving.pools[0].plan.norms_all_heads;
    };
    EXPECT_TRUE(published_model("qwen3-32b").qk_layernorm);
    EXPECT_FALSE(all_heads("qwen3-32b"));
    EXPECT_TRUE(published_model("minimax-m2.5").qk_layernorm);
    EXPECT_TRUE(all_heads("minimax-m2.5"));
    EXPECT_FALSE(published_model("llama-3-70b").qk_layernorm);
}

// Lengths of a data set of conversations differ, with the row's means.
TEST(ServingSetUp, ConversationsHaveLongTails) {
    ServingCase row = closed_row();
    const auto lengths = [&](std::int64_t Request::*field) {
        double sum = 0;
        std::int64_t longest = 0;
        const auto made = set_up(row);
        for (const Request& request : made->requests) {
            sum += static_cast<double>(request.*field);
            longest = std::max(longest, request.*field);
        }
        return std::pair{sum / static_cast<double>(made->requests.size()), longest};
    };
    const auto [mean, longest] = lengths(&Request::prompt_tokens);
    EXPECT_LT(static_cast<double>(longest), 1.01 * row.input_tokens);
    row.share_gpt = true;
    for (const auto& [field, stated] : {std::pair{&Request::prompt_tokens, row.input_tokens},
                                        std::pair{&Request::output_tokens, row.output_tokens}}) {
        const auto [of_data, tail] = lengths(field);
        EXPECT_NEAR(of_data / stated, 1, 0.15);
        EXPECT_GT(static_cast<double>(tail), 3 * stated);
    }
}

// A step of whole prompts holds the longest one.
TEST(ServingSetUp, AStepOfWholePromptsHoldsTheLongest) {
    ServingCase row = closed_row();
    row.input_tokens = 40'000.5;
    const auto tokens = [&] {
        return set_up(row)->scenario.serving.pools[0].limits.max_num_batched_tokens;
    };
    EXPECT_EQ(tokens(), 8192);
    row.engine = "vllm-2024";
    EXPECT_EQ(tokens(), 40'001);
    row.max_num_batched_tokens = 2048;
    EXPECT_EQ(tokens(), 2048);
    row.max_num_batched_tokens = 0;
    row.input_tokens = 1024;
    EXPECT_EQ(tokens(), 32'768);
}

// A stated cache stands for the one that fits the memory.
TEST(ServingSetUp, AStatedCacheHasItsBlocks) {
    ServingCase row = closed_row();
    const auto limits = [&] { return set_up(row)->scenario.serving.pools[0].limits; };
    EXPECT_EQ(limits().num_blocks, 0);
    row.cache_tokens = 91'680;
    EXPECT_EQ(limits().num_blocks * limits().block_size, 91'680);
}

// Engines' times hold on the host of a DGX H100. PyTorch's launches are the same in both engines
// of 2023 and 2024.
TEST(ServingSetUp, EarlyReleasesOfVllmLaunchAlike) {
    ServingCase row = closed_row();
    const auto launch = [&](const char* engine) {
        row.engine = engine;
        return set_up(row)->scenario.serving.engine.host_per_launch;
    };
    EXPECT_EQ(launch("vllm-2024"), launch("vllm-2023"));
}

// Its benchmark gives the engine tokens; users send text to a server.
TEST(ServingSetUp, TheBenchmarkOfTensorRtLlmHasNoFrontEnd) {
    ServingCase row = closed_row();
    row.engine = "trtllm-1.0";
    EXPECT_GT(set_up(row)->scenario.serving.engine.host_per_request, Time{});
    EXPECT_GT(set_up(row)->scenario.serving.engine.host_per_response, Time{});
    row.load = "offline";
    EXPECT_EQ(set_up(row)->scenario.serving.engine.host_per_request, Time{});
    EXPECT_EQ(set_up(row)->scenario.serving.engine.host_per_response, Time{});
}

// A front end that takes requests one by one would leave a static batch to the first of them.
TEST(ServingSetUp, AStaticBatchHasNoFrontEnd) {
    ServingCase row = closed_row();
    EXPECT_GT(set_up(row)->scenario.serving.engine.host_per_request, Time{});
    row.load = "static";
    EXPECT_EQ(set_up(row)->scenario.serving.engine.host_per_request, Time{});
}

// Only clients of a server send text.
TEST(ServingSetUp, TextIsTokenisedWhereClientsSendIt) {
    ServingCase row = closed_row();
    const auto of_token = [&] {
        return set_up(row)->scenario.serving.engine.host_per_prompt_token;
    };
    const Time whole = of_token();
    EXPECT_GT(whole, Time{});
    row.tokens_of_text = 4;
    EXPECT_NEAR(of_token().seconds(), whole.seconds() / 4, 1e-12);
    row.tokens_of_text = 1;
    row.load = "static";
    EXPECT_EQ(of_token(), Time{});
    row.load = "offline";
    row.engine = "trtllm-1.0";
    EXPECT_EQ(of_token(), Time{});
}

TEST(ServingSetUp, PrefillAndDecodeSpanServers) {
    ServingCase row = closed_row();
    row.mode = "disaggregated";
    row.prefill = {.workers = 2, .tensor_parallel = 8};
    row.decode = {.workers = 1, .data_parallel = 8, .expert_parallel = 8};
    const ServingSetUp set = set_up(row).value();
    EXPECT_EQ(set.scenario.cluster.num_ranks(), 24U);
    ASSERT_EQ(set.scenario.serving.pools.size(), 2U);
    EXPECT_EQ(set.scenario.serving.pools[0].instances, 2);
    EXPECT_EQ(set.scenario.serving.pools[1].limits.max_num_seqs, 8 * 1024);
}

TEST(ServingSetUp, ScriptsOfInferenceMaxDecideLimitsAndWaits) {
    ServingCase row = closed_row();
    row.source = "a table (InferenceMAX)";
    row.model = "llama-3.1-70b";
    EXPECT_EQ(set_up(row)->scenario.serving.pools[0].limits.max_num_seqs, 64);
    row.engine = "trtllm";
    row.tensor_parallel = 4;
    row.output_tokens = 1024;
    const ServingSpec waits = set_up(row)->scenario.serving;
    EXPECT_EQ(waits.engine.prompt_wait_steps, 20U);
    EXPECT_EQ(waits.pools[0].limits.balanced_ranks, 16);
    EXPECT_EQ(waits.pools[0].limits.max_num_batched_tokens, 16'384);
    row.source = "another table";
    EXPECT_EQ(set_up(row)->scenario.serving.pools[0].limits.balanced_ranks, 1);
}

// Graphs of vLLM before 0.8 end at contexts of 8,192 tokens, but not those of Qwen's page.
TEST(ServingSetUp, SourcesSayWhichContextsAreCaptured) {
    ServingCase row = closed_row();
    row.engine = "vllm-2024";
    const auto longest = [&] {
        return set_up(row)->scenario.serving.engine.max_seq_len_to_capture;
    };
    EXPECT_EQ(longest(), 8192);
    row.source = "Qwen2.5 documentation benchmark/speed_benchmark.rst";
    EXPECT_EQ(longest(), 0);
}

TEST(ServingSetUp, VllmCapturesWholeStepsFromRelease11On) {
    ServingCase row = closed_row();
    const auto captures = [&](const char* release) {
        row.engine = release;
        const ServingEngine engine = set_up(row)->scenario.serving.engine;
        EXPECT_EQ(engine.piecewise_capture_tokens, 512);
        return engine.captures_generation;
    };
    EXPECT_FALSE(captures("vllm-0.8.4"));
    EXPECT_FALSE(captures("vllm-0.10.2"));
    EXPECT_TRUE(captures("vllm-0.11.0"));
    EXPECT_TRUE(captures("vllm-0.18.0"));
}

// The model's own layer proposes.
TEST(ServingSetUp, ProposalsAreOfOneMoreLayer) {
    ServingCase row = closed_row();
    EXPECT_FALSE(set_up(row)->scenario.serving.speculation.has_model());
    row.draft_tokens = 3;
    const Speculation three = set_up(row)->scenario.serving.speculation;
    EXPECT_EQ(three.draft_tokens, 3);
    EXPECT_EQ(three.draft_model.num_layers, 1);
    // 0.85 and 0.85 x 0.3 proposals beside the step's own token
    const double a = three.acceptance;
    EXPECT_NEAR(1 + a + a * a + a * a * a, 1 + 0.85 + 0.85 * 0.3, 0.01);
    row.draft_tokens = 1;
    EXPECT_EQ(set_up(row)->scenario.serving.speculation.acceptance, 0.85);
}

// OpenAI's Triton kernels are part of vLLM from 0.11.1 on.
TEST(ServingSetUp, GptOssOnHopperMayBeUnpackedByMarlin) {
    ServingCase row = closed_row();
    row.weight_precision = "fp4";
    const auto peak = [&] { return set_up(row)->scenario.serving.engine.unpacked_expert_peak; };
    const double by_triton = peak();
    row.engine = "vllm-0.11.0";
    EXPECT_LT(peak(), 0.6 * by_triton);
    row.gpu = "a100-80g";
    EXPECT_EQ(peak(), 0.45);
    row.engine = "vllm-0.18.0";
    EXPECT_EQ(peak(), 0.45);
    row.gpu = "h100-80g";
    EXPECT_EQ(peak(), by_triton);
    row.source = "a table (InferenceMAX)";
    row.model = "gpt-oss-120b";
    EXPECT_LT(peak(), 0.6 * by_triton);
}

// FlashAttention has attention's sinks on Hopper only.
TEST(ServingSetUp, GptOssAttendsByTritonsKernelBeforeHopper) {
    ServingCase row = closed_row();
    row.weight_precision = "fp4";
    row.model = "gpt-oss-20b";
    row.engine = "vllm-0.11.0";
    const auto rows = [&] { return set_up(row)->scenario.serving.engine.attention_tile_rows; };
    EXPECT_EQ(rows(), 0);
    row.gpu = "a100-80g";
    EXPECT_EQ(rows(), 16);
    row.engine = "sglang-0.5.6";
    EXPECT_EQ(rows(), 0);
}

// Releases after 0.19 schedule ahead of the device like it.
TEST(ServingSetUp, LaterReleasesOfVllmAreTheLaterEngine) {
    ServingCase row = closed_row();
    const auto ahead = [&](const char* engine) {
        row.engine = engine;
        return set_up(row)->scenario.serving.engine.asynchronous;
    };
    EXPECT_FALSE(ahead("vllm-0.11.0"));
    EXPECT_TRUE(ahead("vllm-0.14.0"));
    EXPECT_TRUE(ahead("vllm-0.20.2"));
    EXPECT_TRUE(ahead("vllm-0.31"));
    EXPECT_EQ(set_up(row)->scenario.serving.engine.scheduler, "vllm_v1");
    EXPECT_FALSE(ahead("vllm-0.6.3"));
    EXPECT_EQ(set_up(row)->scenario.serving.engine.scheduler, "vllm_v0");
}

TEST(ServingSetUp, InferenceMaxSchedulesAheadOfTheDevice) {
    ServingCase row = closed_row();
    row.model = "llama-3.1-70b";
    EXPECT_FALSE(set_up(row)->scenario.serving.engine.asynchronous);
    row.source = "a table (InferenceMAX)";
    EXPECT_TRUE(set_up(row)->scenario.serving.engine.asynchronous);
}

TEST(ServingSetUp, TensorRtQuantisesLlamasStreamWithTheSumOfItsRanks) {
    ServingCase row = closed_row();
    row.engine = "trtllm-1.0.0rc3";
    row.model = "llama-3.1-70b";
    const auto fused = [&] { return set_up(row)->scenario.serving.engine.fused_casts; };
    EXPECT_TRUE(fused());
    row.tensor_parallel = 1;
    EXPECT_FALSE(fused());
    row.tensor_parallel = 8;
    row.model = "qwen3-32b";
    EXPECT_FALSE(fused());
}

TEST(ServingSetUp, ServersOfTensorRtLeavePromptsWhole) {
    ServingCase row = closed_row();
    row.engine = "trtllm-1.0.0rc3";
    EXPECT_EQ(set_up(row)->scenario.serving.engine.scheduler, "orca");
    row.load = "offline";  // trtllm-bench
    EXPECT_EQ(set_up(row)->scenario.serving.engine.scheduler, "tensorrt_llm");
}

TEST(ServingSetUp, PromptsOfAnEarlierRunShareTheirBlocks) {
    ServingCase row = closed_row();
    row.repeated_requests = 1000;
    const ServingSetUp set = set_up(row).value();
    EXPECT_EQ(set.scenario.workload.repeated_requests, 640);
    EXPECT_TRUE(set.requests.back().repeated);
    EXPECT_EQ(set.requests.front().prefix_hashes.size(), 1024U / 16);
    row.repeated_requests = 0;
    EXPECT_TRUE(set_up(row)->requests.front().prefix_hashes.empty());
}

// model_runner.py: max_num_reqs is at least 2,048.
TEST(ServingSetUp, SglangRunsThousandsOfRequestsAtATime) {
    ServingCase row = closed_row();
    row.engine = "sglang-0.5.6";
    EXPECT_EQ(set_up(row)->scenario.serving.pools[0].limits.max_num_seqs, 2048);
    row.engine = "vllm-0.11.0";
    EXPECT_EQ(set_up(row)->scenario.serving.pools[0].limits.max_num_seqs, 1024);
}

TEST(ServingSetUp, AClientsSeedDrawsTheLengths) {
    ServingCase row = closed_row();
    row.length_spread = "0.8";
    EXPECT_EQ(set_up(row)->scenario.workload.length_draws, LengthDraws::each);
    row.numpy_seed = 7;
    const ServingSetUp set = set_up(row).value();
    EXPECT_EQ(set.scenario.workload.length_draws, LengthDraws::numpy);
    EXPECT_EQ(set.scenario.workload.seed, 7U);
}

TEST(ServingSetUp, SglangSumsByFlashinferForTwoArchitectures) {
    ServingCase row = closed_row();
    row.gpu = "b200";
    row.model = "gpt-oss-120b";
    row.mode = "aggregated";
    row.num_gpus = 8;
    const auto in_data = [&](const char* engine) {
        row.engine = engine;
        return set_up(row)->scenario.serving.engine.flags_in_data;
    };
    EXPECT_TRUE(in_data("sglang-0.5.6"));
    EXPECT_TRUE(in_data("sglang-0.5.10"));
    EXPECT_TRUE(in_data("sglang-0.6.0"));
    EXPECT_TRUE(in_data("sglang-0.5.5.post1"));
    EXPECT_FALSE(in_data("sglang-0.5.4"));
    EXPECT_FALSE(in_data("vllm-0.14.0"));
    row.mode = "disaggregated";
    row.gpus_per_node = 4;
    row.prefill = row.decode = {.workers = 1, .tensor_parallel = 4};
    EXPECT_TRUE(in_data("sglang-0.5.8"));
    row.decode.tensor_parallel = 8;  // two trays of a GB200 NVL72
    EXPECT_FALSE(in_data("sglang-0.5.8"));
    row.mode = "aggregated";
    row.gpus_per_node = 8;
    row.model = "qwen3-32b";
    EXPECT_FALSE(in_data("sglang-0.5.6"));
}

TEST(ServingSetUp, VllmOf2024SumsByRcclOnAmdsGpus) {
    ServingCase row = closed_row();
    row.engine = "vllm-2024";
    EXPECT_TRUE(set_up(row)->scenario.serving.engine.direct_all_reduce);
    row.gpu = "mi300x";
    EXPECT_FALSE(set_up(row)->scenario.serving.engine.direct_all_reduce);
    row.engine = "vllm-0.10.0";
    EXPECT_TRUE(set_up(row)->scenario.serving.engine.direct_all_reduce);
}

TEST(ServingSetUp, VllmOf2024ChunksPromptsOfLongModels) {
    ServingCase row = closed_row();
    row.engine = "vllm-2024";
    row.release = "0.6.3";
    const ServingSpec chunks = set_up(row, published_model("llama-3.1-405b"))->scenario.serving;
    EXPECT_EQ(chunks.engine.scheduler, "sarathi");
    EXPECT_EQ(chunks.pools[0].limits.max_num_batched_tokens, 512);
    const ServingSpec whole = set_up(row, published_model("llama-3-70b"))->scenario.serving;
    EXPECT_EQ(whole.engine.scheduler, "vllm_v0");
    EXPECT_GT(whole.pools[0].limits.max_num_batched_tokens, 512);
}

}  // namespace
}  // namespace orrery
