// SPDX-License-Identifier: Apache-2.0
#include "models/transformer/transformer.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/models/expert_models.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

// Counts of the released checkpoints.
TEST(Transformer, CountsTheParametersOfReleasedModels) {
    EXPECT_EQ(num_parameters(gpt2_124m()), 124'439'808);
    EXPECT_EQ(num_parameters(gpt(48, 1600, 25, 1024, 50257)), 1'557'611'200);     // GPT-2 XL
    EXPECT_EQ(num_parameters(llama(32, 4096, 11008, 32, 32000)), 6'738'415'616);  // Llama 2 7B
    EXPECT_EQ(num_parameters(llama3_8b()), 8'030'261'248);
    EXPECT_EQ(num_parameters(llama3_70b()), 70'553'706'496);
    EXPECT_EQ(num_parameters(llama3_405b()), 405'853'388'800);
}

// Of the released checkpoints, without the module that predicts a second token and the router's
// selection bias; and the part of them that one token meets.
TEST(Transformer, CountsTheParametersOfReleasedModelsWithExperts) {
    struct Row {
        Transformer model;
        std::int64_t all;
        std::int64_t active;
    };
    const Row rows[] = {
        {mixtral_8x7b(), 46'702'792'704, 12'879'925'248},
        {mixtral_8x22b(), 140'630'071'296, 39'161'468'928},
        {qwen3_30b_a3b(), 30'532'122'624, 3'353'032'704},
        {moonlight_16b(), 15'960'108'544, 2'914'774'528},
        {deepseek_v3(), 671'026'404'352, 37'552'282'624},
        {kimi_k2(), 1'026'408'209'408, 32'861'477'888},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(num_parameters(row.model), row.all);
        EXPECT_EQ(active_parameters(row.model), row.active);
    }
    EXPECT_EQ(active_parameters(llama3_8b()), num_parameters(llama3_8b()));
}

TEST(Transformer, LeadingLayersAndEveryNthHaveNoExperts) {
    Transformer model = mixtral_8x7b();
    EXPECT_TRUE(model.layer_has_experts(0));
    model.first_k_dense_replace = 1;
    model.moe_layer_freq = 2;
    EXPECT_FALSE(model.layer_has_experts(0));
    EXPECT_TRUE(model.layer_has_experts(1));
    EXPECT_FALSE(model.layer_has_experts(2));
    EXPECT_TRUE(model.layer_has_experts(3));
    model.num_experts = 0;
    EXPECT_FALSE(model.layer_has_experts(1));
}

// GPT-3 175B has 174,600 million (Brown et al., 2020, appendix D).
TEST(Transformer, CountsTheParametersOfGpt3) {
    EXPECT_NEAR(static_cast<double>(num_parameters(gpt3_175b())), 174'600e6, 50e6);
}

TEST(Transformer, PaddingTheVocabularyAddsItsRows) {
    Transformer padded = gpt2_124m();
    padded.vocab_size = 50304;
    EXPECT_EQ(num_parameters(padded), 124'439'808 + (50304 - 50257) * 768);
    Transformer untied = gpt2_124m();
    untied.tied_embeddings = false;
    EXPECT_EQ(num_parameters(untied), 124'439'808 + 50257 * 768);
}

// One norm a layer, one key-value head, no biases but the norm's: Falcon 7B.
TEST(Transformer, ParallelBlockHasOneNorm) {
    Transformer falcon = gpt(32, 4544, 71, 2048, 65024);
    falcon.num_query_groups = 1;
    falcon.position_embedding = PositionEmbedding::rope;
    falcon.add_bias_linear = false;
    falcon.parallel_block = true;
    EXPECT_EQ(num_parameters(falcon), 6'921'720'704);
}

// Narayanan et al., SC 2021, equation 2: 12 L h^2 (1 + 13/12h + (V+s)/12Lh), without the final
// norm.
TEST(Transformer, MatchesTheClosedFormOfSc21) {
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
        const std::int64_t L = 1 + static_cast<std::int64_t>(random() % 128);
        const std::int64_t h = 64 * (1 + static_cast<std::int64_t>(random() % 300));
        const std::int64_t V = 1 + static_cast<std::int64_t>(random() % 200000);
        const std::int64_t s = 1 + static_cast<std::int64_t>(random() % 8192);
        const std::int64_t final_norm = 2 * h;
        EXPECT_EQ(num_parameters(gpt(L, h, h / 64, s, V)),
                  12 * L * h * h + 13 * L * h + (V + s) * h + final_norm);
    }
}

TEST(Transformer, PartsAddUp) {
    for (const Transformer& model : {gpt2_124m(), llama3_8b()}) {
        EXPECT_EQ(num_parameters(model),
                  embedding_parameters(model) + model.num_layers * layer_parameters(model) +
                      output_parameters(model));
    }
    EXPECT_EQ(output_parameters(gpt2_124m()), 2 * 768);
    EXPECT_EQ(output_parameters(llama3_8b()), 4096 + 128256 * 4096);
    EXPECT_EQ(embedding_parameters(llama3_8b()), 128256 * 4096);
}

TEST(Transformer, WindowsEveryNthLayerAndOnlyIfShorterThanTheSequence) {
    Transformer model = llama3_8b();
    model.sliding_window = 128;
    model.sliding_window_every = 2;
    EXPECT_FALSE(model.layer_has_window(0));
    EXPECT_TRUE(model.layer_has_window(1));
    model.sliding_window = model.seq_length;
    EXPECT_FALSE(model.layer_has_window(1));
}

}  // namespace
}  // namespace orrery
