// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/inference_max.h"

#include <gtest/gtest.h>

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
    EXPECT_FALSE(inference_max_limits(row));
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

}  // namespace
}  // namespace orrery
