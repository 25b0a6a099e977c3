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
    row.num_gpus = 40;
    row.gpus_per_node = 4;
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
    const auto recipe = inference_max_recipe(row, kTable).value();
    return recipe ? recipe->decode_sequences : 0;
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

ServingSpec spec_of(const ServingCase& row) {
    ServingSpec spec;
    spec.pools.resize(2);
    spec.pools[0].plan.tensor_model_parallel_size = row.prefill.tensor_parallel;
    spec.pools[0].plan.data_parallel_size = row.prefill.data_parallel;
    EXPECT_TRUE(set_inference_max_pools(row, kTable, spec));
    return spec;
}

// Prompts and tokens of all ranks. H200's recipes for long prompts share them between the ranks,
// and those for short ones do not, whatever the results say.
TEST(InferenceMaxPools, RecipesLimitTheStepsOfAPrefillInstance) {
    ServingCase row = pooled(4, 8, 1);
    const ServingSpec ranks = spec_of(row);
    EXPECT_EQ(ranks.pools[0].plan.data_parallel_size, 8);
    EXPECT_EQ(ranks.pools[0].limits.max_num_seqs, 16 * 8);
    EXPECT_EQ(ranks.pools[0].limits.max_num_batched_tokens, 16'384 * 8);
    EXPECT_EQ(ranks.pools[1].limits.max_num_seqs, 8);
    row = pooled(7, 8, 1);
    row.gpu = "h200";
    row.input_tokens = 8192;
    row.output_tokens = 1024;
    const ServingSpec shared = spec_of(row);
    EXPECT_EQ(shared.pools[0].plan.tensor_model_parallel_size, 8);
    EXPECT_EQ(shared.pools[0].plan.data_parallel_size, 1);
    EXPECT_EQ(shared.pools[0].limits.max_num_seqs, 2);
    EXPECT_EQ(shared.pools[0].limits.max_num_batched_tokens, 16'640);
    row = pooled(9, 8, 1);
    row.gpu = "h200";
    row.output_tokens = 1024;
    std::swap(row.prefill.tensor_parallel, row.prefill.data_parallel);
    EXPECT_EQ(spec_of(row).pools[0].plan.data_parallel_size, 8);
    row = pooled(4, 8, 1);
    row.engine = "trtllm-0.5.1-rc0.pre3";
    row.weight_precision = "fp4";
    row.output_tokens = 1024;
    row.prefill = {.workers = 1, .tensor_parallel = 4, .expert_parallel = 4};
    const ServingSpec before = spec_of(row);
    EXPECT_EQ(before.pools[0].plan.tensor_model_parallel_size, 4);
    EXPECT_EQ(before.pools[0].limits.max_num_seqs, 4);
    EXPECT_EQ(before.pools[0].limits.max_num_batched_tokens, 4608);
}

TEST(InferenceMaxPools, DynamoChoosesInstancesInTurn) {
    const ServingSpec spec = spec_of(pooled(4, 8, 1));
    EXPECT_EQ(spec.pools[0].router, "round_robin");
    EXPECT_EQ(spec.pools[1].router, "round_robin");
}

// A node has nginx, and each of the others a front end, up to ten.
TEST(InferenceMaxPools, FrontEndsHaveTurnsOfTheirOwn) {
    ServingCase row = pooled(4, 8, 1);
    EXPECT_EQ(spec_of(row).pools[0].num_routers, 9);
    EXPECT_EQ(spec_of(row).pools[1].num_routers, 9);
    row.num_gpus = 128;
    EXPECT_EQ(spec_of(row).pools[1].num_routers, 10);
    row.engine = "sglang-0.5.5.post2";
    EXPECT_EQ(spec_of(row).pools[0].num_routers, 4);  // the decode instances
    EXPECT_EQ(spec_of(row).pools[1].num_routers, 10);
    row.engine = "trtllm-0.5.1-rc0.pre3";
    EXPECT_EQ(spec_of(row).pools[1].num_routers, 1);
    row = pooled(7, 8, 1);
    row.gpu = "h200";
    EXPECT_EQ(spec_of(row).pools[1].num_routers, 1);
}

TEST(InferenceMaxPools, OtherTablesKeepTheirPools) {
    ServingCase row = pooled(4, 8, 1);
    ServingSpec spec;
    spec.pools.resize(2);
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
