// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/inference_max_pools.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const char* const kTable =
    ORRERY_SOURCE_DIR "/scenarios/catalogue/published/inference_max_pools.csv";

ServingCase pooled(std::int64_t decode_workers, std::int64_t tensor, std::int64_t data) {
    ServingCase row;
    row.source = "a table (InferenceMAX)";
    row.engine = "trtllm-0.8.1.post2";
    row.gpu = "gb200";
    row.model = "deepseek-r1";
    row.weight_precision = "fp8";
    row.mode = "disaggregated";
    row.input_tokens = 1024;
    row.output_tokens = 8192;
    row.concurrency = 36;
    row.prefill = {.workers = 1, .data_parallel = 8, .expert_parallel = 8};
    row.decode = {.workers = decode_workers,
                  .tensor_parallel = tensor,
                  .data_parallel = data,
                  .expert_parallel = tensor * data};
    return row;
}

std::int64_t sequences(const ServingCase& row) {
    return inference_max_decode_sequences(row, kTable).value();
}

TEST(InferenceMaxPools, RecipesLimitTheSequencesOfADecodeInstance) {
    ServingCase row = pooled(4, 8, 1);
    EXPECT_EQ(sequences(row), 8);
    row.concurrency = 4;
    EXPECT_EQ(sequences(row), 1);
    row.concurrency = 5;
    EXPECT_EQ(sequences(row), 0);  // no such recipe
    row = pooled(2, 1, 16);
    EXPECT_EQ(sequences(row), 256 * 16);  // of all ranks
    row.gpu = "h200";
    EXPECT_EQ(sequences(row), 0);
    row = pooled(4, 8, 1);
    row.engine = "sglang-0.5.8";
    EXPECT_EQ(sequences(row), 0);
}

TEST(InferenceMaxPools, DynamoChoosesInstancesInTurn) {
    ServingCase row = pooled(4, 8, 1);
    ServingSpec spec;
    spec.pools.resize(2);
    const std::int64_t prompts = spec.pools[0].limits.max_num_seqs;
    ASSERT_TRUE(set_inference_max_pools(row, kTable, spec));
    EXPECT_EQ(spec.pools[0].limits.max_num_seqs, prompts);
    EXPECT_EQ(spec.pools[1].limits.max_num_seqs, 8);
    EXPECT_EQ(spec.pools[0].router, "round_robin");
    EXPECT_EQ(spec.pools[1].router, "round_robin");
    row.engine = "sglang-0.5.8";
    ASSERT_TRUE(set_inference_max_pools(row, kTable, spec));
    EXPECT_EQ(spec.pools[0].limits.max_num_batched_tokens, 131'072);
    row.source = "another table";
    ServingSpec other;
    other.pools.resize(2);
    ASSERT_TRUE(set_inference_max_pools(row, kTable, other));
    EXPECT_EQ(other.pools[1].router, ServingPoolSpec{}.router);
    EXPECT_FALSE(set_inference_max_pools(pooled(4, 8, 1), "no such file", other));
}

}  // namespace
}  // namespace orrery
