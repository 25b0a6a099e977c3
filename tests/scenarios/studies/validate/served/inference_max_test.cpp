// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/inference_max.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery {
namespace {

ServingCase row_of(const char* engine, const char* model) {
    ServingCase row;
    row.source = "a table (InferenceMAX)";
    row.engine = engine;
    row.gpu = "h200";
    row.model = model;
    row.mode = "aggregated";
    row.concurrency = 64;
    row.input_tokens = 1024;
    row.output_tokens = 1024;
    return row;
}

TEST(InferenceMax, LimitsAreThoseOfItsScripts) {
    EXPECT_EQ(inference_max_limits(row_of("vllm", "llama-3.1-70b")), (EngineLimits{64, 8192}));
    EXPECT_EQ(inference_max_limits(row_of("trtllm", "llama-3.1-70b")), (EngineLimits{2048, 16384}));
    EXPECT_EQ(inference_max_limits(row_of("trtllm", "deepseek-r1")), (EngineLimits{2048, 1152}));
    ServingCase row = row_of("sglang-0.5.9", "deepseek-r1");
    EXPECT_EQ(inference_max_limits(row), (EngineLimits{512, 32768}));
    row.input_tokens = 8192;
    EXPECT_EQ(inference_max_limits(row), (EngineLimits{256, 32768}));
    row.gpu = "b300";
    EXPECT_EQ(inference_max_limits(row), (EngineLimits{128, 32768}));
    row.tensor_parallel = 4;
    EXPECT_EQ(inference_max_limits(row), (EngineLimits{32, 8192}));
    row.gpu = "gb200";
    EXPECT_FALSE(inference_max_limits(row));
    EXPECT_EQ(inference_max_limits(row_of("vllm-0.18.0", "minimax-m2.5")),
              (EngineLimits{1024, 8192}));
    row = row_of("vllm", "llama-3.1-70b");
    row.source = "another table";
    EXPECT_FALSE(inference_max_limits(row));
}

TEST(InferenceMax, PromptsOfSmallLlamasByTensorRtWaitForOthers) {
    ServingCase row = row_of("trtllm", "llama-3.1-70b");
    row.tensor_parallel = 4;
    EXPECT_EQ(inference_max_prompt_wait(row), (PromptWait{16, 20}));
    row.tensor_parallel = 8;
    EXPECT_FALSE(inference_max_prompt_wait(row));
    row.tensor_parallel = 1;
    row.output_tokens = 8192;
    EXPECT_FALSE(inference_max_prompt_wait(row));
    EXPECT_FALSE(inference_max_prompt_wait(row_of("vllm", "llama-3.1-70b")));
}

ServingCase after_script(ServingCase row, const char* day) {
    apply_inference_max_script(std::string{"lengths uniform; "} + day + "; steady state", row);
    return row;
}

TEST(InferenceMax, CachesAreThoseOfItsScripts) {
    ServingCase row = row_of("vllm-0.18.0", "gpt-oss-120b");
    row.gpu = "h100-80g";
    row.key_value_precision = "fp8";
    EXPECT_EQ(after_script(row, "2026-03-27").key_value_precision, "bf16");
    EXPECT_EQ(after_script(row, "2026-03-27").memory_share, 0.9);
    row.model = "llama-3.1-70b";
    EXPECT_EQ(after_script(row, "2026-03-27").key_value_precision, "fp8");
    row.model = "gpt-oss-120b";
    row.source = "another table";
    EXPECT_EQ(after_script(row, "2026-03-27").key_value_precision, "fp8");
}

TEST(InferenceMax, ExpertsAreOnAllRanksWhereTheScriptSaysSo) {
    ServingCase row = row_of("vllm-0.16.0", "minimax-m2.5");
    row.tensor_parallel = 8;
    EXPECT_EQ(after_script(row, "2026-03-01").expert_parallel, 1);
    EXPECT_EQ(after_script(row, "2026-03-28").expert_parallel, 8);
}

// Beyond 64 users of short prompts the script of 2025 chooses attention data parallelism.
TEST(InferenceMax, DeepSeekByTensorRtHasDataParallelAttentionForManyUsers) {
    ServingCase row = row_of("trtllm", "deepseek-r1");
    row.tensor_parallel = 8;
    ServingCase few = after_script(row, "2025-11-02");
    EXPECT_EQ(few.tensor_parallel, 8);
    EXPECT_EQ(few.expert_parallel, 8);
    EXPECT_EQ(few.draft_tokens, 0);
    row.input_tokens = 8192;
    ServingCase many = after_script(row, "2025-11-02");
    EXPECT_EQ(many.tensor_parallel, 1);
    EXPECT_EQ(many.data_parallel, 8);
    EXPECT_EQ(many.expert_parallel, 8);
}

// Before, only one request came before the others.
TEST(InferenceMax, WarmsUpFromPullRequest480On) {
    ServingCase row = row_of("trtllm", "deepseek-r1");
    EXPECT_TRUE(after_script(row, "2026-01-20").cold_start);
    EXPECT_FALSE(after_script(row, "2026-01-21").cold_start);
    EXPECT_FALSE(after_script(row, "").cold_start);
    row.gpu = "b200";
    EXPECT_FALSE(after_script(row, "2026-01-20").cold_start);
}

// The run of that day has the scripts with multi-token prediction.
TEST(InferenceMax, DeepSeekByTensorRtProposesTokens) {
    ServingCase row = row_of("trtllm-1.1.0rc2.post2", "deepseek-r1");
    row.tensor_parallel = 8;
    const ServingCase three = after_script(row, "2026-01-14");
    EXPECT_EQ(three.draft_tokens, 3);
    EXPECT_EQ(inference_max_limits(three), (EngineLimits{64, 1344}));
    EXPECT_EQ(after_script(row, "2026-01-28").draft_tokens, 0);
    row.tensor_parallel = 1;
    row.data_parallel = 8;
    const ServingCase one = after_script(row, "2026-01-14");
    EXPECT_EQ(one.draft_tokens, 1);
    EXPECT_EQ(inference_max_limits(one), (EngineLimits{64, 8 * 1152}));
}

TEST(InferenceMax, SglangOnB300LooksForRequestsRarely) {
    ServingCase row = row_of("sglang-0.5.10.post1", "deepseek-r1");
    EXPECT_EQ(inference_max_steps_to_queue(row), 1);
    row.gpu = "b300";
    row.tensor_parallel = 8;
    EXPECT_EQ(inference_max_steps_to_queue(row), 30);
    row.concurrency = 8;
    EXPECT_EQ(inference_max_steps_to_queue(row), 10);
}

TEST(InferenceMax, VllmOf2025SchedulesAhead) {
    EXPECT_TRUE(inference_max_schedules_ahead(row_of("vllm", "llama-3.1-70b")));
    EXPECT_TRUE(inference_max_schedules_ahead(row_of("vllm-0.11.2", "gpt-oss-120b")));
    EXPECT_FALSE(inference_max_schedules_ahead(row_of("vllm-0.16.0", "minimax-m2.5")));
    ServingCase row = row_of("vllm", "llama-3.1-70b");
    row.source = "another table";
    EXPECT_FALSE(inference_max_schedules_ahead(row));
}

// The client's tokenizer splits text by other rules than the server's.
TEST(InferenceMax, DeepSeeksPromptsAreLongerForSglangWithTransformers5) {
    ServingCase row = row_of("sglang-0.5.10.post1", "deepseek-r1");
    row.gpu = "b300";
    EXPECT_NEAR(after_script(row, "2026-04-17").input_tokens, 1024 * 5.03, 1);
    EXPECT_NEAR(after_script(row, "2026-04-17").tokens_of_text, 5.03, 0.01);
    EXPECT_EQ(after_script(row, "2026-05-28").tokens_of_text, 1);
    EXPECT_EQ(after_script(row, "2026-05-28").input_tokens, 1024);
    row.engine = "sglang-0.5.9";
    EXPECT_EQ(after_script(row, "2026-04-17").input_tokens, 1024);
}

TEST(InferenceMax, PoolsOfSglangHaveTheirRecipes) {
    ServingCase row = row_of("sglang-0.5.5.post2", "deepseek-r1");
    row.gpu = "gb200";
    row.mode = "disaggregated";
    row.prefill = {.workers = 5, .data_parallel = 8};
    row.decode = {.workers = 1, .data_parallel = 32};
    const ServingCase spread = after_script(row, "2025-12-21");
    EXPECT_EQ(spread.prefill.expert_parallel, 8);
    EXPECT_EQ(spread.decode.expert_parallel, 32);
    EXPECT_TRUE(inference_max_has_deep_gemm(spread));
    EXPECT_EQ(inference_max_steps_to_queue(spread), 1);
    row.prefill = row.decode = {.workers = 1, .tensor_parallel = 4};
    const ServingCase quick = after_script(row, "2026-02-08");
    EXPECT_EQ(quick.prefill.expert_parallel, 1);
    EXPECT_FALSE(inference_max_has_deep_gemm(quick));
    EXPECT_EQ(inference_max_steps_to_queue(quick), 10);
}

// Recipes with tensor parallelism and FP8 on Blackwell, and B300's script.
TEST(InferenceMax, SglangOnBlackwellHasFlashInfersExperts) {
    ServingCase row = row_of("sglang-0.5.8.post1", "deepseek-r1");
    row.gpu = "gb200";
    row.weight_precision = "fp8";
    row.mode = "disaggregated";
    row.prefill = row.decode = {.workers = 1, .tensor_parallel = 4};
    EXPECT_EQ(inference_max_engine(row), "sglang-flashinfer");
    row.decode = {.workers = 1, .data_parallel = 32};
    EXPECT_EQ(inference_max_engine(row), "");
    row.gpu = "b300";
    EXPECT_EQ(inference_max_engine(row), "sglang-flashinfer");
    row.weight_precision = "fp4";
    EXPECT_EQ(inference_max_engine(row), "");
    row.weight_precision = "fp8";
    row.gpu = "h200";
    EXPECT_EQ(inference_max_engine(row), "");
}

TEST(InferenceMax, MiniMaxByVllmHasFlashInfersExperts) {
    ServingCase row = row_of("vllm-0.16.0", "minimax-m2.5");
    EXPECT_EQ(inference_max_engine(row), "vllm-flashinfer");
    row.engine = "vllm-0.20.2";
    EXPECT_EQ(inference_max_engine(row), "");
    row.engine = "vllm-0.18.0";
    EXPECT_EQ(inference_max_engine(row), "vllm-flashinfer");
    row.model = "gpt-oss-120b";
    EXPECT_EQ(inference_max_engine(row), "");
    row.model = "minimax-m2.5";
    row.source = "vLLM issue";
    EXPECT_EQ(inference_max_engine(row), "");
}

TEST(InferenceMax, PoolsOfSglangForLowLatencyHaveTensorParallelism) {
    ServingCase row = row_of("sglang-0.5.5.post2", "deepseek-r1");
    row.gpu = "gb200";
    row.mode = "disaggregated";
    row.prefill = {.workers = 1, .data_parallel = 4};
    row.decode = {.workers = 2, .data_parallel = 4};
    const ServingCase quick = after_script(row, "2025-12-21");
    for (const ServingCase::Workers& pool : {quick.prefill, quick.decode}) {
        EXPECT_EQ(pool.tensor_parallel, 4);
        EXPECT_EQ(pool.data_parallel, 1);
        EXPECT_EQ(pool.expert_parallel, 1);
    }
    EXPECT_EQ(quick.decode.workers, 2);
    EXPECT_EQ(inference_max_steps_to_queue(quick), 10);
    row.engine = "trtllm-0.8.1.post2";
    EXPECT_EQ(after_script(row, "2025-12-21").decode.data_parallel, 4);
}

}  // namespace
}  // namespace orrery
