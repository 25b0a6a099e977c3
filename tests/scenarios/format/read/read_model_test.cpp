// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"
#include "tests/test_folder.h"

namespace orrery {
namespace read_model_test {

const std::string kModel =
    "num_layers: 4\nhidden_size: 512\nnum_attention_heads: 8\nseq_length: 256\nvocab_size: 1024\n";

std::string model_errors(const std::string& text,
                         Transformer* model = nullptr,
                         const std::filesystem::path& folder = ".") {
    DocumentNode section = section_of(text);
    Errors errors;
    Transformer ignored;
    std::vector<std::string> remarks;
    read_model(
        section, shipped_catalogue(), folder, model != nullptr ? *model : ignored, remarks, errors);
    return lines_of(errors);
}

TEST(ReadModel, DefaultsAreMegatrons) {
    Transformer model;
    ASSERT_EQ(model_errors(kModel, &model), "");
    EXPECT_EQ(model.ffn_hidden_size, 2048);
    EXPECT_EQ(model.num_query_groups, 8);
    EXPECT_EQ(model.kv_channels, 64);
    EXPECT_EQ(model.activation, Activation::gelu);
    EXPECT_EQ(model.normalization, Normalization::layernorm);
    EXPECT_EQ(model.position_embedding, PositionEmbedding::learned);
    EXPECT_TRUE(model.tied_embeddings);
    EXPECT_TRUE(model.add_bias_linear);
}

TEST(ReadModel, MegatronsSpellingsAreUnderstood) {
    Transformer model;
    ASSERT_EQ(model_errors(kModel + "normalization: RMSNorm\nposition_embedding_type: "
                                    "learned_absolute\nuntie_embeddings_and_output_weights: true\n",
                           &model),
              "");
    EXPECT_EQ(model.normalization, Normalization::rmsnorm);
    EXPECT_EQ(model.position_embedding, PositionEmbedding::learned);
    EXPECT_FALSE(model.tied_embeddings);
}

TEST(ReadModel, ACatalogueNameCanBeChangedKeyByKey) {
    Transformer whole;
    Transformer changed;
    ASSERT_EQ(model_errors("base: llama-3-8b\n", &whole), "");
    ASSERT_EQ(model_errors("base: llama-3-8b\nnum_layers: 2\n", &changed), "");
    EXPECT_EQ(whole.num_layers, 32);
    whole.num_layers = 2;
    EXPECT_EQ(changed, whole);
}

TEST(ReadModel, HeadsThatDoNotDivideAreErrorsAtTheirKeys) {
    const std::string text =
        without_key(kModel, "num_attention_heads") + "num_attention_heads: 7\n";
    EXPECT_EQ(
        model_errors(text),
        "s.yaml:5:1: error: num_attention_heads 7 does not divide hidden_size 512 (hint: give "
        "kv_channels, the size of a head)\n");
    EXPECT_EQ(model_errors(text + "kv_channels: 64\n"), "");
    EXPECT_EQ(model_errors(kModel + "num_query_groups: 3\n"),
              "s.yaml:6:1: error: num_query_groups 3 does not divide num_attention_heads 8\n");
}

TEST(ReadModel, EveryMissingSizeIsNamedAtOnce) {
    const std::string errors = model_errors("name: x\n");
    for (const char* key :
         {"num_layers", "hidden_size", "num_attention_heads", "seq_length", "vocab_size"}) {
        EXPECT_NE(errors.find(std::string{"lacks the key '"} + key + "'"), std::string::npos)
            << key;
    }
}

TEST(ReadModel, MixturesOfExperts) {
    Transformer model;
    ASSERT_EQ(model_errors(kModel + "num_experts: 8\nmoe_router_topk: 3\n", &model), "");
    EXPECT_EQ(model.num_experts, 8);
    EXPECT_EQ(model.moe_router_topk, 3);
    EXPECT_EQ(model.expert_ffn_size(), model.ffn_hidden_size);
}

TEST(ReadModel, AConfigAndABaseAreOneTooMany) {
    EXPECT_NE(model_errors("base: llama-3-8b\nhf_config: c.json\n").find("both base and hf_config"),
              std::string::npos);
    EXPECT_NE(model_errors("hf_config: [1]\n").find("must be the path of a config.json"),
              std::string::npos);
    const TestFolder folder;
    const std::string absent = model_errors("hf_config: absent.json\n", nullptr, folder.path());
    EXPECT_NE(absent.find((folder / "absent.json").string()), std::string::npos) << absent;
}

}  // namespace read_model_test
}  // namespace orrery
