// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/tiled_mlp.h"

#include <gtest/gtest.h>

#include "models/memory/tensor_lifetimes.h"
#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

ParallelPlan plan_with_tiles(std::int64_t mlp, std::int64_t loss) {
    return {
        .recompute_granularity = Recompute::full, .mlp_tile_tokens = mlp, .loss_tile_tokens = loss};
}

// Forward, once more with the layer, and once more with each tile's backward pass.
TEST(TiledMlp, DoesTheSameProductsAndItsFirstOnceMore) {
    const Transformer model = small_llama();
    const Program whole = verified(model, plan_with_tiles(0, 0));
    const Program tiled = verified(model, plan_with_tiles(1024, 0));
    EXPECT_EQ(ops_called(tiled, "fc1").size(), 3 * 4 * ops_called(whole, "fc1").size() / 2);
    EXPECT_DOUBLE_EQ(flop_of(tiled, "fc1"), 1.5 * flop_of(whole, "fc1"));
    for (const char* name : {"fc2", "fc2 dgrad", "fc2 wgrad", "fc1 dgrad", "fc1 wgrad"}) {
        EXPECT_DOUBLE_EQ(flop_of(tiled, name), flop_of(whole, name)) << name;
    }
}

TEST(TiledMlp, KeepsATileOfWhatLiesBetweenItsProducts) {
    const Transformer model = small_llama();
    const Program whole = verified(model, plan_with_tiles(0, 0));
    const Program tiled = verified(model, plan_with_tiles(1024, 0));
    for (const char* name : {"fc1", "activation", "activation backward", "fc2 dgrad"}) {
        EXPECT_EQ(bytes_of_tensor(tiled, name), bytes_of_tensor(whole, name) / 4) << name;
    }
    EXPECT_LT(activation_peak(tiled), activation_peak(whole));
}

// What the output layer and the loss hold of a tile is the only thing that the vocabulary widens.
TEST(TiledMlp, TilesOfTheLossBoundWhatLogitsTake) {
    Transformer model = small_llama();
    model.vocab_size = 65536;
    const Program whole = verified(model, plan_with_tiles(1024, 0));
    const Program tiled = verified(model, plan_with_tiles(1024, 512));
    EXPECT_EQ(bytes_of_tensor(whole, "logits"), 4096LL * 65536 * 2);
    EXPECT_EQ(bytes_of_tensor(tiled, "logits"), 512LL * 65536 * 2);
    EXPECT_LT(activation_peak(tiled), activation_peak(whole) / 2);
    EXPECT_DOUBLE_EQ(flop_of(tiled, "logits"), 2 * flop_of(whole, "logits"));
    EXPECT_DOUBLE_EQ(flop_of(tiled, "logits wgrad"), flop_of(whole, "logits wgrad"));
}

// PyTorch's: 2 bytes of logits, and in fp32 their log-softmax and two gradients.
TEST(TiledMlp, ALossThatIsNotInPlaceTakesFourteenBytesALogit) {
    Transformer model = small_llama();
    model.vocab_size = 1 << 20;
    ParallelPlan plan = plan_with_tiles(0, 0);
    plan.fused_cross_entropy = false;
    const auto logit = static_cast<double>(model.seq_length * model.vocab_size);
    EXPECT_NEAR(static_cast<double>(activation_peak(verified(model, plan))) / logit, 6, 0.1);
    plan.loss_in_place = false;
    EXPECT_NEAR(static_cast<double>(activation_peak(verified(model, plan))) / logit, 14, 0.1);
}

// Hugging Face's: an fp32 copy and a norm without weight, instead of the input in 16 bits.
TEST(TiledMlp, EagerNormsKeepFourBytesAnElementMore) {
    const Transformer model = small_llama(1);
    ParallelPlan plan;
    const Program fused = verified(model, plan);
    plan.eager_norm = true;
    const Program eager = verified(model, plan);
    EXPECT_EQ(bytes_of_tensor(eager, "norm 1 in fp32"), 4096 * 256 * 4);
    EXPECT_EQ(bytes_of_tensor(eager, "norm 1 without weight"), 4096 * 256 * 2);
    // Two norms of the layer and the last one.
    // From the forward to the backward pass.
    const auto kept = [](const Program& program) {
        const RoleLifetimes lifetimes = tensor_lifetimes(program, RoleId{0});
        std::int64_t bytes = 0;
        for (const TensorBlock& block : lifetimes.blocks) {
            const MemoryByKind& group = lifetimes.groups[block.group].bytes;
            bytes += block.begin < block.end ? group[TensorKind::activations].count() : 0;
        }
        return bytes;
    };
    EXPECT_EQ(kept(eager) - kept(fused), 3 * 4096 * 256 * (4 + 2 - 2));
}

}  // namespace
}  // namespace orrery
