// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/initialise.h"

#include <gtest/gtest.h>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

double deviation(const std::vector<float>& values) {
    double sum = 0;
    for (const float v : values) {
        sum += static_cast<double>(v) * static_cast<double>(v);
    }
    return std::sqrt(sum / static_cast<double>(values.size()));
}

Transformer wider() {
    Transformer model = tiny_gpt();
    model.hidden_size = 64;
    model.ffn_hidden_size = 256;
    model.kv_channels = 32;
    return model;
}

TEST(InitialWeights, AreNormalAndSmallerWhereTheyWriteToTheResidualStream) {
    TinyRun run{wider(), tiny_plan()};
    initialise_weights(run.executor(), {.seed = 3, .num_layers = 2});
    EXPECT_NEAR(deviation(run.values("layers.0.mlp.linear_fc1.weight")), 0.02, 0.0006);
    EXPECT_NEAR(deviation(run.values("layers.1.mlp.linear_fc2.weight")), 0.01, 0.0003);
    EXPECT_NEAR(deviation(run.values("layers.1.self_attention.linear_proj.weight")), 0.01, 0.0006);
    EXPECT_EQ(deviation(run.values("layers.0.mlp.linear_fc1.bias")), 0.0);
    const std::vector<float> norm = run.values("final_layernorm");
    for (std::size_t i = 0; i < norm.size(); ++i) {
        EXPECT_EQ(norm[i], i < 64 ? 1.0f : 0.0f);
    }
}

TEST(InitialWeights, DependOnSeedAndNameAlone) {
    ParallelPlan other = tiny_plan();
    other.micro_batch_size = 1;
    other.recompute_granularity = Recompute::full;
    TinyRun a{tiny_gpt(), tiny_plan()};
    TinyRun b{tiny_gpt(), other};
    TinyRun c{tiny_gpt(), tiny_plan(), 2};
    const std::string name = "layers.0.mlp.linear_fc1.weight";
    EXPECT_EQ(a.values(name), b.values(name));
    EXPECT_NE(a.values(name), c.values(name));
    EXPECT_NE(a.values(name), a.values("layers.1.mlp.linear_fc1.weight"));
}

TEST(InitialWeights, HaveMastersInFullPrecision) {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    TinyRun wide{tiny_gpt(), tiny_plan()};
    TinyRun narrow{tiny_gpt(), plan};
    const std::vector<float> state = narrow.values("stage 0 optimizer state");
    std::size_t at = state.size() / 3 * 2;
    // The state's tensors come in the order of the optimizer's weights, the embedding first.
    for (const float w : wide.values("embedding.word_embeddings.weight")) {
        EXPECT_EQ(state[at++], w);
    }
}

}  // namespace
}  // namespace orrery
