// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/served_model.h"

#include <gtest/gtest.h>

#include "runtime/state/training_state.h"
#include "tests/runtime/tiny_model.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(ServedModel, ACheckpointAndItsExportHaveTheSameWeights) {
    const TestFolder folder;
    const Transformer model = tiny_llama();
    TinyRun run{model, tiny_plan()};
    const RunState state{.model = model, .precision = "fp32", .step = 4};
    ASSERT_TRUE(save_training(run.executor(), state, folder.path()));
    const auto stored = load_served_model(model, folder.path(), 0);
    ASSERT_TRUE(stored) << stored.error().front().to_string();
    const std::string name = "layers.1.mlp.linear_fc2.weight";
    EXPECT_EQ(stored->weights.at(name), run.values(name));
    ASSERT_TRUE(export_weights(folder.path(), folder / "w.safetensors", "F32"));
    const auto exported = load_served_model(model, folder / "w.safetensors", 0);
    ASSERT_TRUE(exported) << exported.error().front().to_string();
    EXPECT_EQ(exported->weights, stored->weights);
    Transformer other = model;
    other.ffn_hidden_size = 64;
    const auto wrong = load_served_model(other, folder.path(), 0);
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().front().what.find("ffn_hidden_size"), std::string::npos);
    EXPECT_FALSE(load_served_model(model, folder / "nothing", 0));
}

TEST(ServedModel, DrawnWeightsAreThoseOfTheSeed) {
    const Transformer model = tiny_gpt();
    EXPECT_EQ(load_served_model(model, {}, 1)->weights, load_served_model(model, {}, 1)->weights);
    EXPECT_NE(load_served_model(model, {}, 1)->weights, load_served_model(model, {}, 2)->weights);
    Transformer experts = model;
    experts.num_experts = 4;
    EXPECT_FALSE(load_served_model(experts, {}, 1));
}

}  // namespace
}  // namespace orrery
