// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/format/read/read_serving.h"
#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

ResultOrErrors<Scenario> with_search(const std::string& search) {
    return read_scenario(ORRERY_SOURCE_DIR "/scenarios/serving/llama3-70b-search.yaml",
                         {.overrides = {"search=" + search}, .serving = true});
}

std::string error_of(const std::string& search) {
    const auto read = with_search(search);
    return read ? "" : read.error().front().to_string();
}

TEST(ReadPoolSearch, AListOrOneOfItsValues) {
    const auto read = with_search(
        "{tensor_model_parallel_size: [4, 8], pipeline_model_parallel_size: 2, pools: "
        "[disaggregated], objective: energy, keep: 3}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    const PoolSearch& search = read->pool_search;
    EXPECT_EQ(search.tensor_model_parallel_size, (std::vector<std::int64_t>{4, 8}));
    EXPECT_EQ(search.pipeline_model_parallel_size, std::vector<std::int64_t>{2});
    EXPECT_EQ(search.arrangements, std::vector{PoolArrangement::disaggregated});
    EXPECT_EQ(search.objective, PoolObjective::energy);
    EXPECT_EQ(search.keep, 3);
}

TEST(ReadPoolSearch, WhatIsWrongIsNamed) {
    EXPECT_NE(error_of("{tensor_model_parallel_size: [0]}").find("tensor_model_parallel_size"),
              std::string::npos);
    EXPECT_NE(error_of("{objective: mfu}").find("rate, cost, energy"), std::string::npos)
        << error_of("{objective: mfu}");
    EXPECT_NE(error_of("{micro_batch_size: 4}").find("micro_batch_size"), std::string::npos);
    EXPECT_NE(error_of("3").find("must be a map"), std::string::npos);
}

}  // namespace
}  // namespace orrery
