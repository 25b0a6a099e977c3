// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/format/read/reader.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

ResultOrErrors<Scenario> read_with_encoder(const std::string& encoder,
                                           const std::string& workload,
                                           const std::string& folder = ".") {
    ReadOptions options;
    options.serving = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    return read_scenario_text(
        "kind: serving\ncluster: {nodes: 1, node: dgx-a100-80g, fabric: single-switch-100}\n"
        "model: llama-3-8b\nserving: {" +
            encoder + "}\nworkload: {num_requests: 8, request_rate: 1" + workload + "}\n",
        "e.yaml",
        folder,
        options);
}

const std::string kEncoderText =
    "encoder: {model: {num_layers: 24, hidden_size: 1024, num_attention_heads: 16, seq_length: "
    "577, vocab_size: 1}, patches: 577, instances: 3, tensor_model_parallel_size: 2}";

TEST(ReadEncoder, EveryKeyReachesItsField) {
    const auto scenario =
        read_with_encoder(kEncoderText, ", images: 2, image_share: 0.25, image_prompt_tokens: 144");
    ASSERT_TRUE(scenario);
    const EncoderSpec& encoder = scenario->serving.encoder;
    EXPECT_EQ(encoder.model.num_layers, 24);
    EXPECT_EQ(encoder.patches, 577);
    EXPECT_EQ(encoder.instances, 3);
    EXPECT_EQ(encoder.num_gpus(), 6);
    EXPECT_EQ(scenario->serving.num_gpus(), 7);
    EXPECT_EQ(scenario->workload.images, 2);
    EXPECT_EQ(scenario->workload.image_share, 0.25);
    EXPECT_EQ(scenario->workload.image_prompt_tokens, 144);
}

TEST(ReadEncoder, KeysWithoutEffectAreErrors) {
    EXPECT_FALSE(read_with_encoder(kEncoderText, ""));   // no request has an image
    EXPECT_FALSE(read_with_encoder("", ", images: 1"));  // nothing reads it
    EXPECT_FALSE(read_with_encoder("encoder: 3", ", images: 1"));
    EXPECT_FALSE(read_with_encoder("encoder: {patches: 9}", ", images: 1"));
    EXPECT_FALSE(read_with_encoder("", ", image_share: 0.5"));
    EXPECT_FALSE(read_with_encoder("", ", image_prompt_tokens: 5"));
    EXPECT_FALSE(read_with_encoder(kEncoderText, ", images: 1, turns: 3"));
}

// What the config.json of a model beside the served one says and a scenario cannot say.
TEST(ReadEncoder, TheConfigsOfModelsBesideTheServedOneAreRemarkedOn) {
    const TestFolder folder;
    const std::string config =
        folder.write("config.json",
                     R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024,
  "num_hidden_layers": 2, "num_attention_heads": 8, "vocab_size": 1024,
  "max_position_embeddings": 577, "novelty": 1})");
    const auto scenario = read_with_encoder(
        "encoder: {model: {hf_config: config.json}, patches: 577, instances: 3}, speculation: "
        "{draft_tokens: 4, acceptance: 0.5, draft_model: {hf_config: config.json}}",
        ", images: 2",
        config.substr(0, config.rfind('/')));
    ASSERT_TRUE(scenario) << scenario.error().front().to_string();
    for (const char* model : {"serving.encoder.model", "serving.speculation.draft_model"}) {
        const std::string unknown =
            std::string{model} + ".hf_config: not known, and left out: novelty 1";
        EXPECT_TRUE(std::ranges::any_of(scenario->model_remarks, [&](const std::string& remark) {
            return remark.starts_with(unknown);
        })) << unknown;
    }
}

}  // namespace
}  // namespace orrery
