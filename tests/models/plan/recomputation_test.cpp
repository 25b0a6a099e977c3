// SPDX-License-Identifier: Apache-2.0
#include "models/plan/recomputation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "tests/models/known_models.h"
#include "tests/models/program_sums.h"

namespace orrery {
namespace {

constexpr std::int64_t kSixLayers = 6;

Transformer six_layers() {
    return gpt(kSixLayers, 128, 8, 64, 512);
}

// Which layers keep their input (i), and which run again (a), of a chunk.
std::string layers_of(const ParallelPlan& plan) {
    std::string text;
    for (std::int64_t layer = 0; layer < kSixLayers; ++layer) {
        const LayerRecompute one = recompute_of_layer(plan, layer, kSixLayers);
        text += one.whole.again ? (one.keeps_input() ? "ia" : "a") : "-";
        text += one.whole.ends_unit ? "|" : "";
    }
    return text;
}

ParallelPlan full(RecomputeMethod method, std::int64_t layers) {
    return {.recompute_granularity = Recompute::full,
            .recompute_method = method,
            .recompute_num_layers = layers};
}

// Megatron-LM's --recompute-method, and torchtitan's every k-th layer.
TEST(Recomputation, ChoosesLayersByMethod) {
    EXPECT_EQ(layers_of({}), "------");
    EXPECT_EQ(layers_of(full(RecomputeMethod::uniform, 1)), "ia|ia|ia|ia|ia|ia|");
    EXPECT_EQ(layers_of(full(RecomputeMethod::uniform, 2)), "iaa|iaa|iaa|");
    EXPECT_EQ(layers_of(full(RecomputeMethod::uniform, 4)), "iaaaa|iaa|");
    EXPECT_EQ(layers_of(full(RecomputeMethod::block, 2)), "ia|ia|----");
    EXPECT_EQ(layers_of(full(RecomputeMethod::every, 3)), "--ia|--ia|");
}

std::int64_t peak(const ParallelPlan& plan) {
    return largest_plan(lower(six_layers(), plan)).count();
}

// Each keeps less than the one before, and more than the one after.
TEST(Recomputation, MoreOfItTakesLessMemory) {
    const auto blocks = [](std::int64_t n) { return peak(full(RecomputeMethod::block, n)); };
    EXPECT_GT(peak({}), blocks(1));
    EXPECT_GT(blocks(1), blocks(3));
    EXPECT_GT(blocks(3), blocks(6));
    EXPECT_EQ(blocks(6), peak(full(RecomputeMethod::uniform, 1)));
    const auto module = [](RecomputeModule one) {
        return peak({.recompute_granularity = Recompute::selective,
                     .recompute_modules = static_cast<std::uint32_t>(one)});
    };
    for (const RecomputeModule one : {RecomputeModule::layernorm,
                                      RecomputeModule::activation,
                                      RecomputeModule::mlp,
                                      RecomputeModule::every_second_product,
                                      RecomputeModule::every_second_projection,
                                      RecomputeModule::linear}) {
        EXPECT_LT(module(one), peak({})) << static_cast<int>(one);
    }
    EXPECT_LT(module(RecomputeModule::mlp), module(RecomputeModule::activation));
    EXPECT_LT(peak(full(RecomputeMethod::uniform, 1)),
              module(RecomputeModule::every_second_product));
}

// The names of the kernels that run again in the backward pass, in order, of the last layer.
std::vector<std::string> kernels_again(const Transformer& model, std::uint32_t modules) {
    const Program program =
        lower(model, {.recompute_granularity = Recompute::selective, .recompute_modules = modules});
    std::vector<std::string> names;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.cause == Cause::recomputation) {
                names.push_back(program.names[op.name]);
            }
        }
    }
    names.resize(names.size() / static_cast<std::size_t>(model.num_layers));
    return names;
}

TEST(Recomputation, RunsTheKernelsOfTheModuleAgain) {
    using Names = std::vector<std::string>;
    const auto again = [](RecomputeModule module) {
        return kernels_again(six_layers(), static_cast<std::uint32_t>(module));
    };
    EXPECT_EQ(again(RecomputeModule::core_attn), Names{"attention"});
    EXPECT_EQ(again(RecomputeModule::layernorm), (Names{"norm 2", "norm 1"}));
    EXPECT_EQ(again(RecomputeModule::activation), Names{"activation"});
    EXPECT_EQ(again(RecomputeModule::mlp), (Names{"fc1", "activation", "fc2"}));
    // jax.checkpoint: no backward pass reads what the second product gives.
    EXPECT_EQ(again(RecomputeModule::mlp_first_product), (Names{"fc1", "activation"}));
    EXPECT_EQ(again(RecomputeModule::every_second_product),
              (Names{"norm 1", "projection", "norm 2", "activation"}));
    EXPECT_EQ(again(RecomputeModule::linear),
              (Names{"norm 1", "qkv", "projection", "norm 2", "fc1", "activation"}));
    // A layer without a gate: of the MLP's two products the first is kept.
    EXPECT_EQ(again(RecomputeModule::every_second_projection),
              (Names{"norm 1", "qkv part", "projection", "norm 2", "activation"}));
    Transformer gated = six_layers();
    gated.activation = Activation::swiglu;
    EXPECT_EQ(
        kernels_again(gated, static_cast<std::uint32_t>(RecomputeModule::every_second_projection)),
        (Names{"norm 1", "qkv part", "projection", "norm 2", "fc1 part", "activation"}));
    Transformer parallel = six_layers();
    parallel.parallel_block = true;
    EXPECT_EQ(kernels_again(parallel, 8), (Names{"fc1", "activation"}));
    EXPECT_EQ(kernels_again(parallel, 2 | 8), (Names{"norm 1", "fc1", "activation"}));
    EXPECT_EQ(kernels_again(parallel, 16), (Names{"norm 1", "activation"}));
    EXPECT_EQ(kernels_again(six_layers(), 2 | 8),
              (Names{"norm 2", "fc1", "activation", "fc2", "norm 1"}));
}

TEST(Recomputation, ShareIsOfTheStepsLayers) {
    const Transformer model = six_layers();
    const ParallelPlan stages{.pipeline_model_parallel_size = 2,
                              .recompute_granularity = Recompute::full,
                              .recompute_method = RecomputeMethod::block,
                              .recompute_num_layers = 1};
    EXPECT_DOUBLE_EQ(recomputed_share(model, stages).mlp, 2.0 / kSixLayers);  // one a stage
    EXPECT_DOUBLE_EQ(recomputed_share(model, stages).attention, 2.0 / kSixLayers);
    EXPECT_DOUBLE_EQ(recomputed_share(model, full(RecomputeMethod::every, 3)).attention_linear,
                     1.0 / 3);
    EXPECT_DOUBLE_EQ(recomputed_share(model, {}).mlp, 0);
}

// The names of a plan's kernels that run again, in order, of two layers.
std::vector<std::string> layers_again(ParallelPlan plan, double dropout = 0) {
    Transformer model = six_layers();
    model.num_layers = 2;
    model.dropout = dropout;
    plan.recompute_granularity = Recompute::full;
    plan.checkpoint_early_stop = true;
    const Program program = lower(model, plan);
    std::vector<std::string> names;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.cause == Cause::recomputation) {
                names.push_back(program.names[op.name]);
            }
        }
    }
    return names;
}

// pytorch pull request 96866: recomputation stops at the last saved tensor. That is the input of
// the last product, which PyTorch saves before it computes the product.
TEST(Recomputation, StopsBeforeTheLastProductOfAUnit) {
    const auto has = [](const std::vector<std::string>& names, const char* name) {
        return std::ranges::count(names, name);
    };
    const std::vector<std::string> one = layers_again({});
    EXPECT_EQ(has(one, "fc1"), 2);
    EXPECT_EQ(has(one, "fc2"), 0);
    const std::vector<std::string> two = layers_again({.recompute_num_layers = 2});
    EXPECT_EQ(has(two, "fc2"), 1);  // the second layer reads the first one's
    EXPECT_EQ(has(layers_again({}, 0.1), "fc2"), 2);
    ParallelPlan fp8{.precision = Dtype::fp8};
    EXPECT_EQ(has(layers_again(fp8), "fc2"), 2);
    fp8.compiled = true;
    EXPECT_EQ(has(layers_again(fp8), "fc2"), 0);
    EXPECT_EQ(has(layers_again(fp8), "fc2 cast"), 2);
}

TEST(Recomputation, ShareIsLessTheLastProductThatIsLeftOut) {
    const Transformer model = six_layers();
    ParallelPlan plan = full(RecomputeMethod::uniform, 2);
    plan.checkpoint_early_stop = true;
    EXPECT_DOUBLE_EQ(recomputed_share(model, plan).mlp, 0.75);
    EXPECT_DOUBLE_EQ(recomputed_share(model, plan).attention_linear, 1);
}

// 36 % of the forward products of Llama 3 8B, as torchtitan's policy has it: wk, wo and w3 of
// wq, wk, wv, wo, w1, w2 and w3.
TEST(Recomputation, EverySecondProjectionOfLlama) {
    Transformer llama = six_layers();
    llama.hidden_size = 4096;
    llama.ffn_hidden_size = 14336;
    llama.num_attention_heads = 32;
    llama.num_query_groups = 8;
    llama.kv_channels = 128;
    llama.activation = Activation::swiglu;
    constexpr auto kModule = static_cast<std::uint32_t>(RecomputeModule::every_second_projection);
    const RecomputedShare share = recomputed_share(
        llama, {.recompute_granularity = Recompute::selective, .recompute_modules = kModule});
    const double attention = 4096.0 * (4096 + 1024 + 1024 + 4096);
    const double mlp = 3.0 * 4096 * 14336;
    EXPECT_NEAR(
        (share.attention_linear * attention + share.mlp * mlp) / (attention + mlp), 0.365, 0.002);
    EXPECT_EQ(share.attention, 0);
}

}  // namespace
}  // namespace orrery
