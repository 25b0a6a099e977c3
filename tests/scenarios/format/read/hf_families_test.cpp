// SPDX-License-Identifier: Apache-2.0
// Parameter counts are those of the released models.
#include "scenarios/format/read/hf_families.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/format/document/json_document.h"
#include "tests/scenarios/format/read/hf_model.h"

namespace orrery {
namespace {

ResultOrErrors<HfModel> translated(const std::string& json) {
    const auto config = parse_json(json, "config.json");
    EXPECT_TRUE(config) << config.error().front().to_string();
    return model_of_hf_config(*config);
}

bool says(const std::vector<std::string>& list, std::string_view part) {
    return std::ranges::any_of(
        list, [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

std::string family_errors(const std::string& json) {
    const auto section = translated(json);
    EXPECT_FALSE(section);
    std::string text;
    if (!section) {
        for (const Error& error : section.error()) {
            text += error.to_string() + "\n";
        }
    }
    return text;
}

TEST(HfFamilies, Phi3IsLlamaStyle) {
    const Transformer mini = hf_model(R"({"model_type": "phi3", "hidden_size": 3072,
        "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 32, "vocab_size": 32064, "max_position_embeddings": 4096,
        "sliding_window": 2047, "hidden_act": "silu", "resid_pdrop": 0.0})");
    EXPECT_EQ(num_parameters(mini), 3'821'079'552);
    EXPECT_EQ(mini.sliding_window, 2047);
    EXPECT_EQ(mini.sliding_window_every, 1);
    const Transformer medium = hf_model(R"({"model_type": "phi3", "hidden_size": 5120,
        "intermediate_size": 17920, "num_hidden_layers": 40, "num_attention_heads": 40,
        "num_key_value_heads": 10, "vocab_size": 32064, "max_position_embeddings": 4096})");
    EXPECT_EQ(num_parameters(medium), 13'960'238'080);
    EXPECT_EQ(medium.sliding_window, 0);
}

TEST(HfFamilies, GemmaIsGatedWithGeluAndHasHeadsOfTheirOwnSize) {
    const Transformer gemma = hf_model(R"({"model_type": "gemma", "hidden_size": 2048,
        "intermediate_size": 16384, "num_hidden_layers": 18, "num_attention_heads": 8,
        "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 256000,
        "max_position_embeddings": 8192, "hidden_act": "gelu"})");
    EXPECT_EQ(num_parameters(gemma), 2'506'172'416);
    EXPECT_EQ(gemma.activation, Activation::geglu);
}

TEST(HfFamilies, Gemma2AndItsSuccessorHaveNormsOnBothSides) {
    const std::string second = R"("model_type": "gemma2", "hidden_size": 2304,
        "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 256000,
        "max_position_embeddings": 8192, "hidden_activation": "gelu_pytorch_tanh",
        "sliding_window": 4096, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0)";
    const Transformer gemma2 = hf_model("{" + second + "}");
    EXPECT_EQ(num_parameters(gemma2), 2'614'341'888);
    EXPECT_TRUE(gemma2.sandwich_norm);
    EXPECT_FALSE(gemma2.qk_layernorm);
    EXPECT_EQ(gemma2.sliding_window_every, 2);
    const HfModel said = translated("{" + second + "}").value();
    EXPECT_TRUE(says(said.changes, "attn_logit_softcapping 50.0"));
    EXPECT_TRUE(says(said.changes, "final_logit_softcapping 30.0"));
    const Transformer gemma3 = hf_model(R"({"model_type": "gemma3_text", "hidden_size": 1152,
        "intermediate_size": 6912, "num_hidden_layers": 26, "num_attention_heads": 4,
        "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262144,
        "max_position_embeddings": 32768, "sliding_window": 512, "sliding_window_pattern": 6})");
    EXPECT_EQ(num_parameters(gemma3), 999'885'952);
    EXPECT_TRUE(gemma3.sandwich_norm && gemma3.qk_layernorm);
    EXPECT_EQ(gemma3.full_attention_every, 6);
    EXPECT_TRUE(gemma3.layer_has_window(4));
    EXPECT_FALSE(gemma3.layer_has_window(5));
}

// Its text_config leaves out what the class has by default.
TEST(HfFamilies, TheLanguageModelOfGemma3IsAMapOfItsOwn) {
    const std::string json = R"("model_type": "gemma3", "text_config": {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
        "num_hidden_layers": 34, "sliding_window": 1024}, "vision_config": {"hidden_size": 1152})";
    EXPECT_EQ(num_parameters(hf_model("{" + json + "}")), 3'880'263'168);
    EXPECT_TRUE(says(translated("{" + json + "}").value().unknown, "vision_config"));
}

TEST(HfFamilies, GlmHasABiasOfQueriesKeysAndValues) {
    const std::string sizes = R"("hidden_size": 4096, "intermediate_size": 13696,
        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2,
        "head_dim": 128, "vocab_size": 151552, "max_position_embeddings": 131072})";
    const Transformer glm = hf_model(R"({"model_type": "glm", "attention_bias": true, )" + sizes);
    EXPECT_EQ(num_parameters(glm), 9'399'951'360);
    EXPECT_TRUE(glm.add_qkv_bias);
    EXPECT_FALSE(glm.sandwich_norm);
    const Transformer glm4 = hf_model(R"({"model_type": "glm4", )" + sizes);
    EXPECT_TRUE(glm4.sandwich_norm);
    EXPECT_EQ(num_parameters(glm) - num_parameters(glm4),
              std::int64_t{40} * (4096 + 2 * 256 - 2 * 4096));
}

TEST(HfFamilies, Starcoder2HasBiasesAndFewHeadsOfKeys) {
    const Transformer model = hf_model(R"({"model_type": "starcoder2", "hidden_size": 3072,
        "intermediate_size": 12288, "num_hidden_layers": 30, "num_attention_heads": 24,
        "num_key_value_heads": 2, "vocab_size": 49152, "max_position_embeddings": 16384,
        "hidden_act": "gelu_pytorch_tanh", "norm_type": "layer_norm", "mlp_type": "default",
        "use_bias": true, "sliding_window": 4096})");
    EXPECT_EQ(num_parameters(model), 3'030'371'328);
    EXPECT_EQ(model.sliding_window, 4096);
}

// RedPajama-INCITE-Base-3B-v1 is one of the few without a parallel residual.
constexpr const char* kNeox = R"("model_type": "gpt_neox", "hidden_size": 2560,
    "intermediate_size": 10240, "num_hidden_layers": 32, "num_attention_heads": 32,
    "vocab_size": 50432, "max_position_embeddings": 2048, "hidden_act": "gelu",
    "rotary_pct": 1.0)";

TEST(HfFamilies, GptNeoxIsSaidWithoutItsParallelResidualOnly) {
    const Transformer neox =
        hf_model(std::string{"{"} + kNeox + R"(, "use_parallel_residual": false})");
    EXPECT_EQ(num_parameters(neox), 2'775'864'320);
    EXPECT_TRUE(neox.add_bias_linear);
    EXPECT_EQ(neox.position_embedding, PositionEmbedding::rope);
    EXPECT_NE(family_errors(std::string{"{"} + kNeox + "}")
                  .find("use_parallel_residual (absent, the family's default): attention and MLP "
                        "read norms of their own"),
              std::string::npos);
    EXPECT_NE(family_errors(std::string{"{"} + kNeox +
                            R"(, "use_parallel_residual": false, "attention_bias": false})")
                  .find("attention_bias false"),
              std::string::npos);
}

constexpr const char* kFalcon = R"("model_type": "falcon", "hidden_size": 4544,
    "num_hidden_layers": 32, "num_attention_heads": 71, "vocab_size": 65024)";

TEST(HfFamilies, FalconHasOneHeadOfKeysAndAParallelBlock) {
    const Transformer falcon =
        hf_model(std::string{"{"} + kFalcon +
                 R"(, "alibi": false, "bias": false, "multi_query": true, "parallel_attn": true})");
    EXPECT_EQ(num_parameters(falcon), 6'921'720'704);
    EXPECT_TRUE(falcon.parallel_block);
    EXPECT_EQ(falcon.num_query_groups, 1);
    EXPECT_EQ(falcon.seq_length, 2048);
    EXPECT_FALSE(
        hf_model(std::string{"{"} + kFalcon + R"(, "parallel_attn": false})").parallel_block);
}

TEST(HfFamilies, FalconWithTwoNormsOrAlibiIsRefused) {
    EXPECT_NE(family_errors(std::string{"{"} + kFalcon + R"(, "new_decoder_architecture": true})")
                  .find("new_decoder_architecture true: attention and MLP read norms of their own"),
              std::string::npos);
    EXPECT_NE(family_errors(std::string{"{"} + kFalcon + R"(, "alibi": true})").find("alibi true"),
              std::string::npos);
    const Transformer one_norm =
        hf_model(std::string{"{"} + kFalcon +
                 R"(, "new_decoder_architecture": true, "num_ln_in_parallel_attn": 1,
                 "num_kv_heads": 1})");
    EXPECT_EQ(num_parameters(one_norm), 6'921'720'704);
}

constexpr const char* kOpt = R"("model_type": "opt", "hidden_size": 768, "ffn_dim": 3072,
    "num_hidden_layers": 12, "num_attention_heads": 12, "vocab_size": 50272,
    "max_position_embeddings": 2048, "word_embed_proj_dim": 768)";

TEST(HfFamilies, OptIsRefusedForReluAndCountsItsFurtherPositions) {
    EXPECT_NE(family_errors(std::string{"{"} + kOpt + R"(, "activation_function": "relu"})")
                  .find("activation_function relu: no model key says ReLU"),
              std::string::npos);
    EXPECT_NE(family_errors(std::string{"{"} + kOpt + "}").find("activation_function (absent"),
              std::string::npos);
    const std::string gelu = std::string{"{"} + kOpt + R"(, "activation_function": "gelu")";
    EXPECT_EQ(num_parameters(hf_model(gelu + "}")) + 2 * 768, 125'239'296);  // as OPT-125m
    EXPECT_NE(translated(gelu + "}")->changes.front().find("1536 parameters"), std::string::npos);
    EXPECT_NE(
        family_errors(gelu + R"(, "do_layer_norm_before": false})").find("do_layer_norm_before"),
        std::string::npos);
    EXPECT_NE(family_errors(gelu + R"(, "layer_norm_elementwise_affine": false})")
                  .find("layer_norm_elementwise_affine false"),
              std::string::npos);
}

TEST(HfFamilies, AWordEmbeddingOfAnotherSizeIsRefused) {
    EXPECT_NE(family_errors(R"({"model_type": "opt", "hidden_size": 1024, "ffn_dim": 4096,
        "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size": 50272,
        "max_position_embeddings": 2048, "word_embed_proj_dim": 512,
        "activation_function": "gelu"})")
                  .find("word_embed_proj_dim 512"),
              std::string::npos);
}

// The keys of bigscience/bloom-560m: 559,214,592 parameters, of which 2 * 1024 norm the embedding.
TEST(HfFamilies, BloomNormsItsEmbedding) {
    const std::string bloom = R"("model_type": "bloom", "n_layer": 24, "n_embed": 1024,
        "num_attention_heads": 16, "vocab_size": 250880, "seq_length": 2048, "offset_alibi": 100)";
    const Transformer model = hf_model("{" + bloom + "}");
    EXPECT_TRUE(model.embed_layernorm);
    EXPECT_TRUE(model.tied_embeddings);
    EXPECT_EQ(model.position_embedding, PositionEmbedding::none);
    EXPECT_EQ(num_parameters(model), 559'214'592);
    EXPECT_NE(translated("{" + bloom + "}")->changes.front().find("ALiBi"), std::string::npos);
    EXPECT_NE(family_errors("{" + bloom + R"(, "apply_residual_connection_post_layernorm": true})")
                  .find("apply_residual_connection_post_layernorm true"),
              std::string::npos);
}

}  // namespace
}  // namespace orrery
