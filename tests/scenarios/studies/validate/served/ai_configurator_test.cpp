// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/ai_configurator.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(AiConfigurator, RowsOfItsOwnHaveItsLimits) {
    ServingCase row;
    row.mode = "aggregated";
    row.load = "closed";
    row.concurrency = 32;
    row.input_tokens = 1024;
    EXPECT_FALSE(is_ai_configurator(row));
    row.source = "AIConfigurator silicon_sample.csv";
    EXPECT_TRUE(is_ai_configurator(row));
    EXPECT_EQ(ai_configurator_limits(row).max_num_seqs, 32);
    EXPECT_EQ(ai_configurator_limits(row).max_num_batched_tokens, 32 + 1024 + 1500);
    row.engine = "trtllm-1.0.0rc3";
    EXPECT_TRUE(leaves_prompts_whole(row));
    row.engine = "sglang-0.5.1.post1";
    EXPECT_FALSE(leaves_prompts_whole(row));
    EXPECT_EQ(ai_configurator_limits(row).max_num_batched_tokens, 2 * 1024);
    row.input_tokens = 4096;
    EXPECT_EQ(ai_configurator_limits(row).max_num_batched_tokens, 4096);
    row.source += " (InferenceMAX)";
    EXPECT_FALSE(is_ai_configurator(row));
}

// enable_chunked_prefill is false in the LLM API; trtllm-bench cuts prompts.
TEST(AiConfigurator, ServersOfTensorRtComputeWholePrompts) {
    ServingCase row;
    row.mode = "aggregated";
    row.load = "closed";
    row.engine = "trtllm-nim-1.8.0";
    EXPECT_TRUE(leaves_prompts_whole(row));
    row.engine = "vllm-0.18.0";
    EXPECT_FALSE(leaves_prompts_whole(row));
    row.load = "offline";
    row.engine = "trtllm-1.0";
    EXPECT_FALSE(leaves_prompts_whole(row));
    row.engine = "trtllm serve 1.2.0rc1";
    EXPECT_TRUE(leaves_prompts_whole(row));
    row.load = "poisson";
    row.engine = "trtllm-mlperf-v5.1";
    EXPECT_FALSE(leaves_prompts_whole(row));
    row.engine = "trtllm-0.8.1.post1";
    row.mode = "disaggregated";
    EXPECT_FALSE(leaves_prompts_whole(row));
    row.source = "a table (InferenceMAX)";  // its recipes cut none
    EXPECT_TRUE(leaves_prompts_whole(row));
}

}  // namespace
}  // namespace orrery
