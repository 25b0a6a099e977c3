// SPDX-License-Identifier: Apache-2.0
// Models with experts by their config.json: parameters of the released checkpoints, and no key
// lost.
#include "scenarios/format/read/hf_experts.h"

#include <gtest/gtest.h>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/json_document.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace hf_experts_test {

HfModel imported_experts(const std::string& json) {
    const auto config = parse_json(json, "config.json");
    EXPECT_TRUE(config) << config.error().front().to_string();
    auto model = model_of_hf_config(*config);
    EXPECT_TRUE(model) << model.error().front().to_string();
    return model ? *model : HfModel{};
}

Transformer model_of_experts(const std::string& json) {
    HfModel imported = imported_experts(json);
    EXPECT_TRUE(imported.unknown.empty()) << imported.unknown.front();
    Errors errors;
    std::vector<std::string> remarks;
    Transformer model;
    const Catalogue catalogue{"."};
    read_model(imported.section, catalogue, ".", model, remarks, errors);
    EXPECT_TRUE(errors.empty()) << errors.front().to_string();
    return model;
}

constexpr const char* kCommon = R"("hidden_act": "silu", "tie_word_embeddings": false,
    "rms_norm_eps": 1e-05, "torch_dtype": "bfloat16", "attention_bias": false,)";

TEST(HfExperts, Mixtral) {
    const Transformer model = model_of_experts(std::string{"{"} + kCommon + R"(
        "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 32000, "max_position_embeddings": 32768, "num_local_experts": 8,
        "num_experts_per_tok": 2, "router_aux_loss_coef": 0.02, "sliding_window": null,
        "output_router_logits": false})");
    EXPECT_EQ(num_parameters(model), 46'702'792'704);
    EXPECT_EQ(active_parameters(model), 12'879'925'248);
}

TEST(HfExperts, Qwen3HasNormsOfHeads) {
    const Transformer model = model_of_experts(std::string{"{"} + kCommon + R"(
        "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
        "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936,
        "max_position_embeddings": 40960, "num_experts": 128, "num_experts_per_tok": 8,
        "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": true,
        "use_sliding_window": false, "sliding_window": null, "max_window_layers": 48})");
    EXPECT_EQ(num_parameters(model), 30'532'122'624);
    EXPECT_EQ(active_parameters(model), 3'353'032'704);
}

constexpr const char* kDeepSeek = R"("model_type": "deepseek_v3", "hidden_size": 7168,
    "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61,
    "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 129280,
    "max_position_embeddings": 163840, "n_routed_experts": 256, "num_experts_per_tok": 8,
    "n_shared_experts": 1, "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_group": 8,
    "topk_group": 4, "topk_method": "noaux_tc", "scoring_func": "sigmoid", "norm_topk_prob": true,
    "routed_scaling_factor": 2.5, "q_lora_rank": 1536, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128)";

TEST(HfExperts, DeepSeekHasLatentAttentionAndASharedExpert) {
    const Transformer model = model_of_experts(std::string{"{"} + kCommon + kDeepSeek + "}");
    EXPECT_EQ(num_parameters(model), 671'026'404'352);
    EXPECT_EQ(active_parameters(model), 37'552'282'624);
}

// Modules that predict further tokens are not part of the model here, which the import says.
TEST(HfExperts, NoKeyIsLostInSilence) {
    const HfModel model = imported_experts(std::string{"{"} + kCommon + kDeepSeek +
                                           R"(, "num_nextn_predict_layers": 1, "news": 3})");
    ASSERT_EQ(model.changes.size(), 1u);
    EXPECT_NE(model.changes[0].find("num_nextn_predict_layers 1"), std::string::npos);
    EXPECT_EQ(model.unknown, std::vector<std::string>{"news 3"});
}

TEST(HfExperts, MoonlightDoesNotCompressQueries) {
    const Transformer model = model_of_experts(std::string{"{"} + kCommon + R"(
        "model_type": "deepseek_v3", "hidden_size": 2048, "intermediate_size": 11264,
        "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16,
        "num_key_value_heads": 16, "vocab_size": 163840, "max_position_embeddings": 8192,
        "n_routed_experts": 64, "num_experts_per_tok": 6, "n_shared_experts": 2,
        "first_k_dense_replace": 1, "moe_layer_freq": 1, "q_lora_rank": null,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128})");
    EXPECT_EQ(model.q_lora_rank, 0);
    EXPECT_EQ(num_parameters(model), 15'960'108'544);
}

TEST(HfExperts, Llama4HasExpertsInEverySecondLayer) {
    const HfModel imported = imported_experts(R"({"model_type": "llama4", "text_config": {
        "model_type": "llama4_text", "hidden_act": "silu", "hidden_size": 5120,
        "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_hidden_layers": 48,
        "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 202048, "max_position_embeddings": 1048576, "num_local_experts": 128,
        "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "attention_chunk_size": 8192},
        "vision_config": {"hidden_size": 1408}})");
    Errors errors;
    std::vector<std::string> remarks;
    Transformer model;
    DocumentNode section = imported.section;
    const Catalogue catalogue{"."};
    read_model(section, catalogue, ".", model, remarks, errors);
    ASSERT_TRUE(errors.empty()) << errors.front().to_string();
    EXPECT_FALSE(model.layer_has_experts(0));
    EXPECT_TRUE(model.layer_has_experts(1));
    EXPECT_EQ(model.expert_ffn_size(), 8192);
    EXPECT_EQ(model.moe_shared_expert_intermediate_size, 8192);
    // 400 billion parameters, of which a token meets 17 billion.
    EXPECT_NEAR(static_cast<double>(num_parameters(model)), 400e9, 2e9);
    EXPECT_NEAR(static_cast<double>(active_parameters(model)), 17e9, 0.6e9);
    EXPECT_EQ(imported.unknown, std::vector<std::string>{"vision_config"});
    ASSERT_EQ(imported.changes.size(), 1u);
}

// Without the gate of the shared expert: 24 x 2048 parameters, which the import says.
TEST(HfExperts, Qwen2HasABiasOfQueriesKeysAndValues) {
    const Transformer model = model_of_experts(R"({"model_type": "qwen2_moe", "hidden_act": "silu",
        "hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632, "num_hidden_layers": 24,
        "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 151936,
        "max_position_embeddings": 8192, "num_experts": 60, "num_experts_per_tok": 4,
        "decoder_sparse_step": 1, "use_sliding_window": false})");
    EXPECT_TRUE(model.add_qkv_bias);
    EXPECT_EQ(num_parameters(model), 14'315'784'192 - 24 * 2048);
}

// Without the biases by which its router chooses: 45 x 128 numbers.
TEST(HfExperts, Glm4HasOneDenseLayer) {
    const Transformer model = model_of_experts(R"({"model_type": "glm4_moe", "hidden_act": "silu",
        "hidden_size": 4096, "intermediate_size": 10944, "moe_intermediate_size": 1408,
        "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8,
        "head_dim": 128, "vocab_size": 151552, "max_position_embeddings": 131072,
        "n_routed_experts": 128, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "attention_bias": true, "use_qk_norm": false,
        "partial_rotary_factor": 0.5, "num_nextn_predict_layers": 1})");
    EXPECT_EQ(num_parameters(model), 106'852'251'264 - 45 * 128);
    EXPECT_TRUE(model.add_qkv_bias);
    EXPECT_FALSE(model.qk_layernorm);
}

// Its norms of queries and keys have 2 x 2048 parameters a layer, ours 2 x 128.
TEST(HfExperts, OlmoeNormsTheWholeWidth) {
    const std::string json = R"({"model_type": "olmoe", "hidden_act": "silu",
        "hidden_size": 2048, "intermediate_size": 1024, "num_hidden_layers": 16,
        "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 50304,
        "max_position_embeddings": 4096, "num_experts": 64, "num_experts_per_tok": 8})";
    EXPECT_EQ(num_parameters(model_of_experts(json)), 6'919'161'856 - 16 * 2 * (2048 - 128));
    EXPECT_NE(imported_experts(json).changes.at(0).find("whole width"), std::string::npos);
}

// Without the biases of attention's output and of the output layer.
TEST(HfExperts, PhiHasLayerNorms) {
    const Transformer model = model_of_experts(R"({"model_type": "phimoe", "hidden_act": "silu",
        "hidden_size": 4096, "intermediate_size": 6400, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32064,
        "max_position_embeddings": 131072, "num_local_experts": 16, "num_experts_per_tok": 2,
        "attention_bias": true, "lm_head_bias": true})");
    EXPECT_EQ(num_parameters(model), 41'873'153'344 - 32 * 4096 - 32064);
}

TEST(HfExperts, MiniMaxAndDeepSeekV32SayWhatIsLeftOut) {
    const HfModel minimax = imported_experts(R"({"model_type": "minimax_m2",
        "hidden_act": "silu", "hidden_size": 3072, "intermediate_size": 1536,
        "num_hidden_layers": 62, "num_attention_heads": 48, "num_key_value_heads": 8,
        "head_dim": 128, "vocab_size": 200064, "max_position_embeddings": 196608,
        "num_local_experts": 256, "num_experts_per_tok": 8, "use_qk_norm": true,
        "qk_norm_type": "per_layer", "shared_intermediate_size": 0})");
    EXPECT_EQ(minimax.section.find("qk_layernorm")->text, "true");
    ASSERT_EQ(minimax.changes.size(), 1u);
    EXPECT_TRUE(minimax.unknown.empty());
    std::string json = kDeepSeek;
    json.replace(json.find("deepseek_v3"), 11, "deepseek_v32");
    const HfModel sparse =
        imported_experts("{" + std::string{kCommon} + json +
                         R"(, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 64})");
    ASSERT_EQ(sparse.changes.size(), 1u);
    EXPECT_NE(sparse.changes[0].find("index_topk"), std::string::npos);
    EXPECT_TRUE(sparse.unknown.empty());
}

TEST(HfExperts, GptOssHasBiasesAndWindows) {
    const HfModel imported = imported_experts(R"({"model_type": "gpt_oss", "hidden_act": "silu",
        "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 4,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
        "vocab_size": 201088, "max_position_embeddings": 131072, "num_local_experts": 128,
        "num_experts_per_tok": 4, "attention_bias": true, "sliding_window": 128,
        "tie_word_embeddings": false, "swiglu_limit": 7.0,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
                        "full_attention"]})");
    EXPECT_EQ(imported.section.find("sliding_window_every")->text, "2");
    EXPECT_EQ(imported.section.find("add_bias_linear")->text, "true");
    EXPECT_EQ(imported.section.find("activation_func_clamp_value")->text, "7.0");
    EXPECT_EQ(imported.changes.size(), 1u);  // attention sinks
}

}  // namespace hf_experts_test
}  // namespace orrery
