// SPDX-License-Identifier: Apache-2.0
#include "scenarios/read/hf_config.h"

#include <gtest/gtest.h>

#include "scenarios/read/json_document.h"
#include "scenarios/read/read_sections.h"

namespace orrery {
namespace {

Transformer model_of(const std::string& json) {
    auto config = parse_json(json, "config.json");
    EXPECT_TRUE(config) << config.error().front().to_string();
    auto section = model_of_hf_config(*config);
    EXPECT_TRUE(section) << section.error().front().to_string();
    Transformer model;
    Errors errors;
    read_model(*section, Catalogue{"/nowhere"}, ".", model, errors);
    EXPECT_TRUE(errors.empty()) << errors.front().to_string();
    return model;
}

std::string error_of(const std::string& json) {
    const auto config = parse_json(json, "config.json");
    if (!config) {
        return config.error().front().to_string();
    }
    const auto section = model_of_hf_config(*config);
    return section ? "no error" : section.error().front().to_string();
}

// The released file of openai-community/gpt2, without what has no effect on cost.
TEST(HfConfig, Gpt2IsGptStyleAndTied) {
    const Transformer model = model_of(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12,
        "n_head": 12, "n_positions": 1024, "n_ctx": 1024, "vocab_size": 50257,
        "activation_function": "gelu_new", "resid_pdrop": 0.1, "n_inner": null})");
    EXPECT_EQ(num_parameters(model), 124'439'808);  // as the model card says
    EXPECT_TRUE(model.tied_embeddings);
    EXPECT_EQ(model.activation, Activation::gelu);
    EXPECT_EQ(model.normalization, Normalization::layernorm);
    EXPECT_EQ(model.position_embedding, PositionEmbedding::learned);
    EXPECT_EQ(model.ffn_hidden_size, 3072);
    EXPECT_DOUBLE_EQ(model.dropout, 0.1);
}

TEST(HfConfig, LlamaIsLlamaStyleGroupedAndUntied) {
    const Transformer model = model_of(R"({"model_type": "llama", "hidden_size": 4096,
        "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
        "hidden_act": "silu"})");
    EXPECT_EQ(num_parameters(model), 8'030'261'248);  // as the model card says
    EXPECT_FALSE(model.tied_embeddings);
    EXPECT_EQ(model.activation, Activation::swiglu);
    EXPECT_FALSE(model.add_bias_linear);
}

TEST(HfConfig, MistralHasAWindowAndQwenHeadsOfTheirOwnSize) {
    const std::string mistral = R"({"model_type": "mistral", "hidden_size": 4096,
        "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768,
        "sliding_window": 4096})";
    EXPECT_EQ(model_of(mistral).sliding_window, 4096);
    const std::string qwen = R"({"model_type": "qwen3", "hidden_size": 1024,
        "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
        "max_position_embeddings": 40960, "tie_word_embeddings": true, "sliding_window": 4096,
        "use_sliding_window": false})";
    const Transformer model = model_of(qwen);
    EXPECT_EQ(model.kv_channels, 128);
    EXPECT_TRUE(model.tied_embeddings);
    EXPECT_EQ(model.sliding_window, 0);
}

TEST(HfConfig, ErrorsNameTheKeyAndItsPlace) {
    EXPECT_EQ(error_of("{\n  \"model_type\": \"bert\"\n}"),
              "config.json:2:3: error: model_type 'bert' is not supported (hint: one of gpt2, "
              "llama, mistral, qwen2, qwen3; or write the dimensions out)");
    EXPECT_EQ(error_of(R"({"model_type": "gpt2"})").substr(0, 53),
              "config.json:1:1: error: the model lacks the key 'n_la");
    EXPECT_EQ(error_of(R"({"model_type": "llama", "num_local_experts": 8})").substr(0, 63),
              "config.json:1:25: error: mixture-of-experts models are not supp");
    EXPECT_EQ(error_of("[1]"), "config.json:1:1: error: a config.json must be a map, not a list");
}

}  // namespace
}  // namespace orrery
