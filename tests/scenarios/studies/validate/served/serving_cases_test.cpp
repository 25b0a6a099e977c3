// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/serving_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace orrery {
namespace {

const std::filesystem::path kPublished = ORRERY_SOURCE_DIR "/scenarios/catalogue/published";

TEST(ServingCases, TablesAreKnownByTheirColumns) {
    EXPECT_TRUE(is_serving_table((kPublished / "serving.csv").string()));
    EXPECT_FALSE(is_serving_table((kPublished / "training.csv").string()));
    const auto cases = read_serving_cases((kPublished / "serving.csv").string()).value();
    EXPECT_EQ(cases.size(), 529U);
    const auto traced = std::ranges::find(cases, "vllm019-rtx4090-8b", &ServingCase::name);
    ASSERT_NE(traced, cases.end());
    EXPECT_EQ(traced->load, "trace");
    EXPECT_DOUBLE_EQ(traced->e2e_s, 86.608);
    EXPECT_EQ(traced->gpus_per_node, 1);
    EXPECT_FALSE(traced->at_highest_rate());
}

// Objectives, attention that is data-parallel, and a product of 144 GB stand in notes and names.
TEST(ServingCases, WordsOfARowAreRead) {
    const auto cases = read_serving_cases((kPublished / "serving.csv").string()).value();
    const auto ends_with = [&](const char* family, const char* end) {
        return *std::ranges::find_if(cases, [&](const ServingCase& row) {
            return row.family == family && row.name.ends_with(end);
        });
    };
    const ServingCase deepseek = ends_with("mlperf-deepseek-r1-gb200", "-server");
    EXPECT_TRUE(deepseek.at_highest_rate());
    EXPECT_DOUBLE_EQ(deepseek.ttft_objective_s, 2);
    EXPECT_DOUBLE_EQ(deepseek.tpot_objective_s, 0.08);
    EXPECT_EQ(deepseek.data_parallel, 8);
    EXPECT_EQ(deepseek.tensor_parallel, 1);
    EXPECT_EQ(deepseek.max_num_seqs, 8 * 512);
    EXPECT_FALSE(ends_with("mlperf-deepseek-r1-gb200", "-offline").at_highest_rate());
    EXPECT_EQ(ends_with("mlperf-llama-2-70b-gh200", "aarch64x1_trt-server").gpu, "gh200-144gb");
    EXPECT_EQ(ends_with("mlperf-llama-2-70b-h200", "-server").gpu, "h200");
}

// Meta's FP8 checkpoint keeps attention in 16 bits, AMD's does not.
TEST(ServingCases, NotesSayWhatACheckpointKeepsIn16Bits) {
    const auto cases = read_serving_cases((kPublished / "serving_blind.csv").string()).value();
    const auto of_family = [&](const char* family) {
        return *std::ranges::find(cases, family, &ServingCase::family);
    };
    EXPECT_TRUE(of_family("dstack-llama-3.1-405b-h100").attention_in_16_bits);
    EXPECT_FALSE(of_family("dstack-llama-3.1-405b-mi300x").attention_in_16_bits);
}

// The parameters that the table states beside the dimensions, in billions.
TEST(ServingCases, ModelsHaveTheirPublishedParameters) {
    const auto models = read_served_models((kPublished / "serving_models.csv").string()).value();
    struct Known {
        const char* name;
        double all;
        double active;
    };
    for (const Known& known : {Known{"llama-3.1-70b", 70.55, 70.55},
                               Known{"mixtral-8x7b", 46.7, 12.88},
                               Known{"deepseek-r1", 671, 37.55},
                               Known{"qwen3-30b-a3b", 30.53, 3.353},
                               Known{"gpt-oss-120b", 116.8, 5.71}}) {
        const PublishedModel* model = served_model(models, known.name);
        ASSERT_NE(model, nullptr) << known.name;
        EXPECT_NEAR(static_cast<double>(num_parameters(*model)) * 1e-9, known.all, 0.01 * known.all)
            << known.name;
        EXPECT_NEAR(static_cast<double>(active_parameters(*model)) * 1e-9,
                    known.active,
                    0.05 * known.active)
            << known.name;
    }
    EXPECT_EQ(served_model(models, "nobody-1b"), nullptr);
    EXPECT_EQ(served_model(models, "llama-3.1-405b")->num_layers, 126);
    for (const PublishedModel& model : models) {
        EXPECT_EQ(model.num_experts > 0, model.expert_load_alpha > 0) << model.name;
    }
}

// Llama 3.1 has contexts of 131,072 tokens, for which vLLM 0.6 computes prompts in chunks.
TEST(ServingCases, NotesNameTheReleaseOfVllm) {
    const auto cases = read_serving_cases((kPublished / "serving_blind.csv").string()).value();
    const auto models = read_served_models((kPublished / "serving_models.csv").string()).value();
    ServingCase row = *std::ranges::find(cases, "dstack-llama-3.1-405b-h100", &ServingCase::family);
    const PublishedModel& model = *served_model(models, row.model);
    EXPECT_EQ(row.release, "0.6.3");
    EXPECT_TRUE(chunks_prompts_by_default(row, model));
    EXPECT_FALSE(chunks_prompts_by_default(row, *served_model(models, "llama-2-70b")));
    row.whole_prompts = true;
    EXPECT_FALSE(chunks_prompts_by_default(row, model));
    row.whole_prompts = false;
    row.release.clear();
    EXPECT_FALSE(chunks_prompts_by_default(row, model));
    EXPECT_TRUE(std::ranges::find(cases, "dstack-llama-3.1-405b-mi300x", &ServingCase::family)
                    ->whole_prompts);
}

TEST(ServingCases, NotesTellPromptsOfAnEarlierRun) {
    const auto cases = read_serving_cases((kPublished / "serving_blind.csv").string()).value();
    const auto repeated = [&](const char* name) {
        return std::ranges::find(cases, name, &ServingCase::name)->repeated_requests;
    };
    EXPECT_EQ(repeated("sglang-llama-3.1-70b-a100-1220-844-c1"), 0);
    EXPECT_EQ(repeated("sglang-llama-3.1-70b-a100-992-1020-c16"), 10);
    EXPECT_EQ(repeated("sglang-deepseek-v3.1-mi300x-993-8131-c64"), 320);
}

// dstack states the longest context that its H100's cache holds, and none of its MI300X.
TEST(ServingCases, NotesTellTheTokensOfTheCache) {
    const auto cases = read_serving_cases((kPublished / "serving_blind.csv").string()).value();
    const auto of_cache = [&](const char* family) {
        return std::ranges::find(cases, family, &ServingCase::family)->cache_tokens;
    };
    EXPECT_EQ(of_cache("dstack-llama-3.1-405b-h100"), 91'680);
    EXPECT_EQ(of_cache("dstack-llama-3.1-405b-mi300x"), 0);
}

TEST(ServingCases, NotesTellTheSeedOfLengths) {
    const auto cases = read_serving_cases((kPublished / "serving_blind.csv").string()).value();
    const auto seed = [&](const char* name) {
        return std::ranges::find(cases, name, &ServingCase::name)->numpy_seed;
    };
    EXPECT_EQ(seed("sglang-llama-3.1-70b-a100-992-1020-c16"), 1);
    EXPECT_LT(seed("sglang-gpt-oss-120b-b200-332-213-c1"), 0);
}

}  // namespace
}  // namespace orrery
