// SPDX-License-Identifier: Apache-2.0
#include "models/serving_step.h"

#include <gtest/gtest.h>

#include "tests/models/known_models.h"

namespace orrery {
namespace {

Transformer llama3_8b() {
    return llama(32, 4096, 14336, 8, 128256);
}
Transformer llama3_70b() {
    return llama(80, 8192, 28672, 8, 128256);
}

double flop_of(const std::vector<ServingOp>& ops, KernelKind kind) {
    double sum = 0;
    for (const ServingOp& op : ops) {
        const auto* call = std::get_if<KernelCall>(&op.work);
        if (call != nullptr && call->kind == kind) {
            sum += call->flop * static_cast<double>(op.count);
        }
    }
    return sum;
}

std::int64_t bytes_of_collectives(const std::vector<ServingOp>& ops, CollectiveKind kind) {
    std::int64_t sum = 0;
    for (const ServingOp& op : ops) {
        const auto* call = std::get_if<CollectiveCall>(&op.work);
        if (call != nullptr && call->kind == kind) {
            sum += call->bytes.count() * op.count;
        }
    }
    return sum;
}

// Two FLOP a parameter of the products; logits of sampled rows only.
TEST(ServingStep, ProductsOfLlama3_8B) {
    const BatchShape silent{.tokens = 1, .chunks = {{.new_tokens = 1}}};
    BatchShape sampling = silent;
    sampling.sampled = 1;
    const double products = flop_of(serving_ops(llama3_8b(), {}, silent, 0), KernelKind::gemm);
    EXPECT_EQ(products, 13'958'643'712.0);
    EXPECT_EQ(flop_of(serving_ops(llama3_8b(), {}, sampling, 0), KernelKind::gemm) - products,
              1'050'673'152.0);
}

// A prompt of 2,048 tokens takes 2.969e13 FLOP: the products, attention over 4 a d n (c + (n+1)/2)
// a layer, and one row of logits.
TEST(ServingStep, APromptOf2048Tokens) {
    constexpr double kTokens = 2048;
    const BatchShape shape{.tokens = 2048, .sampled = 1, .chunks = {{.new_tokens = 2048}}};
    const std::vector<ServingOp> ops = serving_ops(llama3_8b(), {}, shape, 0);
    const double attention = flop_of(ops, KernelKind::attention_forward);
    EXPECT_DOUBLE_EQ(attention, 32 * 4.0 * 4096 * kTokens * (kTokens + 1) / 2);
    EXPECT_NEAR(attention + flop_of(ops, KernelKind::gemm), 2.969e13, 0.001e13);
}

TEST(ServingStep, AChunkSeesItsContext) {
    const BatchShape shape{.tokens = 100, .chunks = {{.new_tokens = 100, .context = 900}}};
    EXPECT_DOUBLE_EQ(
        flop_of(attention_ops(llama3_8b(), {}, shape, 0), KernelKind::attention_forward),
        32 * 4.0 * 4096 * 100 * (900 + 101.0 / 2));
}

TEST(ServingStep, RanksShareTheWorkAndAddItUp) {
    const BatchShape shape{
        .tokens = 64, .sampled = 64, .generating = 64, .generating_context = 64 * 1000};
    const ServingPlan alone;
    const ServingPlan eight{.tensor_model_parallel_size = 8};
    const auto one = serving_ops(llama3_70b(), alone, shape, 0);
    const auto part = serving_ops(llama3_70b(), eight, shape, 0);
    EXPECT_DOUBLE_EQ(flop_of(one, KernelKind::gemm), 8 * flop_of(part, KernelKind::gemm));
    EXPECT_DOUBLE_EQ(flop_of(one, KernelKind::attention_forward),
                     8 * flop_of(part, KernelKind::attention_forward));
    EXPECT_EQ(bytes_of_collectives(one, CollectiveKind::all_reduce), 0);
    // Two a layer and one of the embedding, of n h values in 16 bits each.
    EXPECT_EQ(bytes_of_collectives(part, CollectiveKind::all_reduce), 161 * 64 * 8192 * 2);
}

TEST(ServingStep, StagesShareTheLayersAndSendWhatFollows) {
    const BatchShape shape{.tokens = 16, .sampled = 16, .chunks = {{.new_tokens = 16}}};
    const ServingPlan plan{.pipeline_model_parallel_size = 3};
    double sum = 0;
    for (std::int64_t stage = 0; stage < 3; ++stage) {
        const auto ops = serving_ops(llama3_70b(), plan, shape, stage);
        sum += flop_of(ops, KernelKind::gemm);
        const bool sends = std::holds_alternative<SendCall>(ops.back().work);
        EXPECT_EQ(sends, stage < 2);
    }
    EXPECT_EQ(layers_of_stage(llama3_70b(), plan, 0), 27);
    EXPECT_EQ(layers_of_stage(llama3_70b(), plan, 2), 26);
    EXPECT_DOUBLE_EQ(sum, flop_of(serving_ops(llama3_70b(), {}, shape, 0), KernelKind::gemm));
}

// Published figures of the models.
TEST(ServingStep, BytesOfKeysAndValues) {
    EXPECT_EQ(key_value_bytes(llama3_8b(), {}).count(), 131'072);
    EXPECT_EQ(key_value_bytes(llama3_70b(), {}).count(), 327'680);
    EXPECT_EQ(key_value_bytes(llama(126, 16384, 53248, 8, 128256), {}).count(), 516'096);
    EXPECT_EQ(key_value_bytes(llama(32, 4096, 11008, 32, 32000), {}).count(), 524'288);
    const ServingPlan fp8{.key_value_precision = Dtype::fp8};
    EXPECT_EQ(key_value_bytes(llama3_70b(), fp8).count(), 163'840);
    // Sixteen ranks share eight heads: each head is stored twice.
    const ServingPlan sixteen{.tensor_model_parallel_size = 16};
    EXPECT_EQ(16 * key_value_bytes_of_rank(llama3_70b(), sixteen, 0).count(), 2 * 327'680);
}

TEST(ServingStep, WeightsOnARank) {
    const std::int64_t all = num_parameters(llama3_8b());
    EXPECT_EQ(serving_weight_bytes(llama3_8b(), {}, 0).count(), 2 * all);
    const ServingPlan fp8{.precision = Dtype::fp8, .weight_bits = 8};
    const std::int64_t vocabulary = 2 * 128256 * 4096;
    // The output layer's norm keeps 16 bits, too.
    EXPECT_EQ(serving_weight_bytes(llama3_8b(), fp8, 0).count(),
              all - vocabulary - 4096 + 2 * (vocabulary + 4096));
}

TEST(ServingStep, AShapeIsWhatABatchCosts) {
    Batch batch;
    batch.steps = {{.new_tokens = 1, .context = 99, .samples = true},
                   {.new_tokens = 1, .context = 9, .samples = true},
                   {.new_tokens = 50, .context = 512},
                   {.new_tokens = 1, .context = 0, .samples = true}};
    EXPECT_EQ(shape_of(batch),
              (BatchShape{.tokens = 53,
                          .sampled = 3,
                          .generating = 2,
                          .generating_context = 110,
                          .chunks = {{.new_tokens = 50, .context = 512},
                                     {.new_tokens = 1, .context = 0}}}));
}

}  // namespace
}  // namespace orrery
