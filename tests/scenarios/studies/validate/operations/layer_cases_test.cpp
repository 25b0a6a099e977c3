// SPDX-License-Identifier: Apache-2.0
// The published products and layers are met as well as they are known to be.
#include "scenarios/studies/validate/operations/layer_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "engine/base/statistics.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

const std::filesystem::path kLayerCatalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";

TimedValidation published_layers() {
    const std::string file = (kLayerCatalogue / "published/layers_moe.csv").string();
    EXPECT_TRUE(is_layer_table(file));
    const auto cases = read_layer_cases(file);
    EXPECT_TRUE(cases) << cases.error().front().to_string();
    EXPECT_EQ(cases->size(), 62U);
    auto validation = validate_layers(*cases, kLayerCatalogue);
    EXPECT_TRUE(validation);
    return *validation;
}

TEST(LayerCases, PublishedTableIsMet) {
    const TimedValidation validation = published_layers();
    EXPECT_EQ(validation.rows.size(), 62U);
    EXPECT_TRUE(validation.skipped.empty());
    std::map<std::string, double> median;
    for (const TimedFamily& family : validation.families) {
        median[family.name] = family.median;
    }
    EXPECT_LE(median.at("deepgemm"), 0.06);
    EXPECT_LE(median.at("mcore-moe-layer"), 0.10);
    EXPECT_LE(median.at("tutel-layer"), 0.16);
}

// None of the grouped products was used for the curve.
TEST(LayerCases, GroupedProductsFollowFromDenseOnes) {
    std::vector<double> errors;
    for (const TimedRow& row : published_layers().rows) {
        if (row.name.starts_with("DGEMM-grouped")) {
            errors.push_back(std::abs(row.error()));
        }
    }
    EXPECT_EQ(errors.size(), 4u);
    EXPECT_LE(median(errors), 0.03);
}

// Which of three dispatchers is fastest at 8 choices a token, and that 2 choices hide it.
TEST(LayerCases, DispatchersRankAsPublished) {
    std::map<std::string, double> us;
    for (const TimedRow& row : published_layers().rows) {
        us[row.name] = row.predicted_us;
    }
    const auto ratio = [&](const std::string& a, const std::string& b) {
        return us.at(a) / us.at(b);
    };
    EXPECT_GT(ratio("MCMOE-deepseek-alltoall-bf16-forward", "MCMOE-deepseek-deepep-bf16-forward"),
              1.08);
    EXPECT_GT(ratio("MCMOE-deepseek-deepep-bf16-forward", "MCMOE-deepseek-hybridep-bf16-forward"),
              1.0);
    EXPECT_NEAR(ratio("MCMOE-mixtral-alltoall-bf16-forward", "MCMOE-mixtral-hybridep-bf16-forward"),
                1,
                0.05);
}

TEST(LayerCases, MistakesHavePlaces) {
    const TestFolder folder;
    const std::string header =
        "case,family,gpu,kernel,pass,dtype,m,n,k,time_us,groups,num_experts,moe_router_topk,"
        "expert_model_parallel_size,dispatcher\n";
    const std::string file =
        folder.write("bad.csv", header + "a,f,h800,gemm_fp8_block,forward,fp8,0,1,1,0,1,,,,\n");
    EXPECT_TRUE(is_layer_table(file));
    const auto bad = read_layer_cases(file);
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().size(), 2u);
    const auto odd = read_layer_cases(
        folder.write("odd.csv",
                     header + "a,f,h800,sort,forward,fp8,1,1,1,5,1,,,,\n"
                              "b,f,h100-80g,moe_layer,forward,bf16,64,64,64,5,1,8,2,8,pigeon\n"));
    ASSERT_TRUE(odd);
    const auto validation = validate_layers(*odd, kLayerCatalogue);
    ASSERT_TRUE(validation);
    ASSERT_EQ(validation->skipped.size(), 2u);
    EXPECT_EQ(validation->skipped[0].reason, "kernel 'sort' is not known");
    EXPECT_EQ(validation->skipped[1].reason, "no dispatcher is 'pigeon'");
}

}  // namespace
}  // namespace orrery
