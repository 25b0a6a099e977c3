// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/stage_layout.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Layers = std::vector<std::int64_t>;

// A layer costs 67 M weights and the output layer 268 M: as much as four layers. Half of these
// twenty is beyond its share with the eleventh.
TEST(StageLayout, CountsTheOutputLayer) {
    Transformer model;
    model.num_layers = 16;
    model.hidden_size = 2048;
    model.ffn_hidden_size = 8192;
    model.num_attention_heads = 32;
    model.kv_channels = 64;
    model.vocab_size = 131072;
    model.activation = Activation::swiglu;
    EXPECT_EQ(layers_by_cost(model, 2), (Layers{11, 5}));
    model.vocab_size = 2048;
    EXPECT_EQ(layers_by_cost(model, 2), (Layers{9, 7}));
    EXPECT_EQ(layers_by_cost(model, 64), Layers{});
}

TEST(StageLayout, IsWhatTheRowLists) {
    PublishedCase row;
    row.model.num_layers = 7;
    ParallelPlan plan;
    plan.pipeline_model_parallel_size = 3;
    plan.embedding_and_loss_as_layers = true;
    set_pipeline_layout(row, {"pipeline_layers=1/4/2"}, plan);
    EXPECT_EQ(plan.pipeline_layout, (Layers{1, 4, 2}));
    EXPECT_FALSE(plan.embedding_and_loss_as_layers);
    plan.pipeline_layout.clear();
    set_pipeline_layout(row, {"uneven_pipeline_stages"}, plan);
    EXPECT_EQ(plan.pipeline_layout, (Layers{3, 2, 2}));
}

// Llama 3.1 405B: with embedding and loss as layers 126 layers fill 128 places.
TEST(StageLayout, MegatronBridgeDividesPlacesNotLayers) {
    PublishedCase row;
    row.stack = "mb26.02";
    row.model.num_layers = 126;
    ParallelPlan plan;
    plan.pipeline_model_parallel_size = 16;
    plan.virtual_pipeline_model_parallel_size = 4;
    plan.embedding_and_loss_as_layers = true;
    set_pipeline_layout(row, {}, plan);
    EXPECT_EQ(plan.pipeline_layout, Layers{});
    EXPECT_TRUE(plan.embedding_and_loss_as_layers);
    row.model.num_layers = 15;
    plan.pipeline_model_parallel_size = 2;
    plan.virtual_pipeline_model_parallel_size = 2;
    plan.embedding_and_loss_as_layers = false;
    set_pipeline_layout(row, {}, plan);
    EXPECT_EQ(plan.pipeline_layout, (Layers{4, 4, 4, 3}));
}

}  // namespace
}  // namespace orrery
