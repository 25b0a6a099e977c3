// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/hf_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/report/search_clusters.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/format/read/hf_model.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

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
    const Transformer model = hf_model(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12,
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
    const Transformer model = hf_model(R"({"model_type": "llama", "hidden_size": 4096,
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
    EXPECT_EQ(hf_model(mistral).sliding_window, 4096);
    const std::string qwen = R"({"model_type": "qwen3", "hidden_size": 1024,
        "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
        "max_position_embeddings": 40960, "tie_word_embeddings": true, "sliding_window": 4096,
        "use_sliding_window": false})";
    const Transformer model = hf_model(qwen);
    EXPECT_EQ(model.kv_channels, 128);
    EXPECT_TRUE(model.tied_embeddings);
    EXPECT_EQ(model.sliding_window, 0);
    EXPECT_TRUE(model.qk_layernorm);
    EXPECT_EQ(num_parameters(model), 596'049'920);
}

TEST(HfConfig, ErrorsNameTheKeyAndItsPlace) {
    EXPECT_EQ(
        error_of("{\n  \"model_type\": \"bert\"\n}"),
        "config.json:2:3: error: model_type 'bert' is not supported (hint: one of gpt2, "
        "llama, mistral, qwen2, qwen3, mixtral, qwen2_moe, qwen3_moe, deepseek_v2, deepseek_v3, "
        "deepseek_v32, kimi_k2, llama4, llama4_text, gpt_oss, glm4_moe, minimax_m2, olmoe, phimoe, "
        "phi3, gemma, gemma2, gemma3, gemma3_text, glm, glm4, starcoder2, gpt_neox, falcon, opt, "
        "bloom; or write the dimensions out)");
    EXPECT_EQ(error_of(R"({"model_type": "gpt2"})").substr(0, 53),
              "config.json:1:1: error: the model lacks the key 'n_la");
    EXPECT_EQ(error_of(R"({"model_type": "llama", "num_local_experts": 8})").substr(0, 62),
              "config.json:1:25: error: model_type 'llama' has no experts her");
    EXPECT_EQ(error_of("[1]"), "config.json:1:1: error: a config.json must be a map, not a list");
}

constexpr const char* kLlama = R"("model_type": "llama", "hidden_size": 4096,
    "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192)";

HfModel imported(const std::string& json) {
    auto config = parse_json("{" + json + "}", "config.json");
    EXPECT_TRUE(config) << config.error().front().to_string();
    auto model = model_of_hf_config(*config);
    EXPECT_TRUE(model) << model.error().front().to_string();
    return std::move(*model);
}

bool has(const std::vector<std::string>& list, std::string_view part) {
    return std::ranges::any_of(list,
                               [&](const std::string& one) { return one.find(part) != one.npos; });
}

// A config with one change that the model cannot say: nothing may be dropped in silence.
TEST(HfConfig, NamesWhatItLeavesOutAlthoughTheAnswerDependsOnIt) {
    EXPECT_TRUE(imported(kLlama).changes.empty());
    for (const auto& [change, due] :
         {std::pair{R"("attention_bias": true)",
                    "attention_bias: biases of attention's output, 131072 parameters"},
          {R"("mlp_bias": true)", "mlp_bias"},
          {R"("attn_logit_softcapping": 50.0)", "attn_logit_softcapping 50.0: a tanh"},
          {R"("num_nextn_predict_layers": 1)", "num_nextn_predict_layers 1: layers that predict"},
          {R"("attention_dropout": 0.1)", "attention_dropout 0.1"},
          {R"("sliding_window": 512)", "sliding_window 512: no key says in which layers"},
          {R"("sliding_window": 512, "layer_types": ["sliding_attention"])",
           "layer_types: names 1 of 32 layers"}}) {
        EXPECT_TRUE(has(imported(std::string{kLlama} + ", " + change).changes, due)) << change;
    }
}

TEST(HfConfig, EveryOtherKeyIsIrrelevantForAReasonOrUnknown) {
    const HfModel model =
        imported(std::string{kLlama} +
                 R"(, "rope_theta": 5e5, "rope_scaling": {"factor": 8}, "attention_bias": false,
        "mlp_bias": false, "attention_dropout": 0.0, "torch_dtype": "bfloat16",
        "quantization_config": {"bits": 4}, "architectures": ["LlamaForCausalLM"],
        "attn_logit_softcapping": null, "pruned_heads": {}, "shiny_new_trick": 3)");
    EXPECT_TRUE(model.changes.empty()) << model.changes.front();
    EXPECT_EQ(model.unknown, std::vector<std::string>{"shiny_new_trick 3"});
    for (const char* key : {"rope_theta (a constant",
                            "rope_scaling (",
                            "torch_dtype (plan",
                            "quantization_config (",
                            "attn_logit_softcapping (null)"}) {
        EXPECT_TRUE(has(model.without_effect, key)) << key;
    }
    EXPECT_EQ(model.assumed,
              (std::vector<std::string>{"hidden_act: silu (the family's default)",
                                        "tie_word_embeddings: false (the family's default)"}));
}

TEST(HfConfig, BiasesOfAllProductsAreSaid) {
    const Transformer model =
        hf_model("{" + std::string{kLlama} + R"(, "attention_bias": true, "mlp_bias": true})");
    EXPECT_TRUE(model.add_bias_linear);
    const Transformer qwen = hf_model(R"({"model_type": "qwen2", "hidden_size": 3584,
        "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
        "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768})");
    EXPECT_TRUE(qwen.add_qkv_bias);
    EXPECT_FALSE(qwen.add_bias_linear);
    EXPECT_EQ(num_parameters(qwen), 7'615'616'512);
    EXPECT_TRUE(has(imported(std::string{kLlama} + R"(, "attention_bias": true)").changes,
                    "attention_bias: biases of attention's output"));
}

TEST(HfConfig, DefaultsAreTheFamilysAndAreNamed) {
    const HfModel gpt2 = imported(R"("model_type": "gpt2", "n_embd": 768, "n_layer": 12,
        "n_head": 12, "n_positions": 1024, "vocab_size": 50257, "attn_pdrop": 0.0)");
    EXPECT_EQ(gpt2.section.find("dropout")->text, "0.1");
    EXPECT_TRUE(has(gpt2.assumed, "dropout: 0.1"));
    EXPECT_TRUE(has(gpt2.changes, "attn_pdrop 0.0"));
    const std::string mistral = R"("model_type": "mistral", "hidden_size": 4096,
        "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "vocab_size": 32000, "max_position_embeddings": 32768)";
    EXPECT_EQ(imported(mistral).section.find("num_query_groups")->text, "8");
    EXPECT_EQ(imported(mistral).section.find("sliding_window")->text, "4096");
    EXPECT_EQ(imported(mistral + R"(, "sliding_window": null)").section.find("sliding_window"),
              nullptr);
}

// A step's answer, a search's and the import say the same of what the file does not say and of what
// a scenario cannot say; not of what the scenario gives itself.
TEST(HfConfig, WhatAHuggingFaceConfigCannotSayIsRemarked) {
    const TestFolder folder;
    folder.write("config.json", R"({"model_type": "llama", "hidden_size": 512,
  "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 8,
  "vocab_size": 1024, "max_position_embeddings": 4096, "attention_bias": true, "novelty": 1})");
    const auto file = folder.write(
        "s.yaml",
        "cluster: {nodes: 1, node: dgx-h100}\n"
        "model: {hf_config: config.json}\n"
        "plan: {tensor_model_parallel_size: 8, micro_batch_size: 1, global_batch_size: 8}\n");
    const auto s = read_scenario(file);
    ASSERT_TRUE(s) << s.error().front().to_string();
    const auto has = [](const std::vector<std::string>& remarks, const std::string& begin) {
        return std::ranges::any_of(remarks,
                                   [&](const auto& one) { return one.starts_with(begin); });
    };
    const auto step = simulate_scenario(*s);
    ASSERT_TRUE(step);
    for (const auto& remarks : {s->model_remarks, step->remarks, search_remarks(*s)}) {
        EXPECT_TRUE(has(remarks, "model.hf_config: seq_length 4096 is the longest"));
        EXPECT_TRUE(has(remarks, "model.hf_config: left out, and CHANGES THE ANSWER: attention"));
        EXPECT_TRUE(has(remarks, "model.hf_config: not known, and left out: novelty 1"));
    }
    const auto shorter = read_scenario(file, {.overrides = {"model.seq_length=512"}});
    ASSERT_TRUE(shorter);
    EXPECT_FALSE(has(shorter->model_remarks, "model.hf_config: seq_length"));
    EXPECT_EQ(shorter->model_remarks.size() + 1, s->model_remarks.size());
}

}  // namespace
}  // namespace orrery
