// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/served_adapters.h"

#include <gtest/gtest.h>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

TEST(ServedAdapters, HaveAPairForEachProductOfALayer) {
    ServedModel served = *load_served_model(tiny_llama(), {}, 3);
    const std::size_t before = served.weights.size();
    draw_adapters(served, 3, 2, 7);
    EXPECT_EQ(served.weights.size(), before + 2 * 2 * 4);
    // 16 inputs; query, key and value heads of 16, 8 and 8.
    EXPECT_EQ(served.weights["layers.1.self_attention.linear_qkv.weight.adapter_a"].size(),
              3U * 2 * 16);
    EXPECT_EQ(served.weights["layers.1.self_attention.linear_qkv.weight.adapter_b"].size(),
              3U * 2 * 32);
    EXPECT_EQ(served.weights["layers.0.mlp.linear_fc1.weight.adapter_b"].size(), 3U * 2 * 64);

    ServedModel again = *load_served_model(tiny_llama(), {}, 3);
    draw_adapters(again, 3, 2, 7);
    EXPECT_EQ(again.weights, served.weights);
    ServedModel other = *load_served_model(tiny_llama(), {}, 3);
    draw_adapters(other, 3, 2, 8);
    EXPECT_NE(other.weights, served.weights);
}

TEST(ServedAdapters, LayersWithExpertsHaveThoseOfAttention) {
    Transformer model = tiny_llama();
    model.num_experts = 4;
    model.moe_ffn_hidden_size = 24;
    model.first_k_dense_replace = 1;
    EXPECT_EQ(adapted_projections(model, 0).size(), 4U);
    EXPECT_EQ(adapted_projections(model, 1).size(), 2U);
}

}  // namespace
}  // namespace orrery
