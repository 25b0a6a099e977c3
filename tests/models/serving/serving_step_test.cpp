// SPDX-License-Identifier: Apache-2.0
#include "models/serving/serving_step.h"

#include <gtest/gtest.h>

#include "engine/base/check.h"
#include "kernels/gemm/grouped_gemm.h"
#include "models/serving/serving_kernels.h"
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

// The first op of this name.
const KernelCall& kernel_of(const std::vector<ServingOp>& ops, std::string_view name) {
    for (const ServingOp& op : ops) {
        if (op.name == name) {
            return std::get<KernelCall>(op.work);
        }
    }
    ORRERY_CHECK(false);
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

// Chunks of several prompts share a kernel that does all of their work.
TEST(ServingStep, PromptsOfAStepShareAKernel) {
    const BatchShape one{.tokens = 100, .chunks = {{.new_tokens = 100, .context = 900}}};
    const BatchShape other{.tokens = 30, .chunks = {{.new_tokens = 30}}};
    const BatchShape both{.tokens = 130,
                          .chunks = {{.new_tokens = 100, .context = 900}, {.new_tokens = 30}}};
    const auto flop = [](const BatchShape& shape) {
        return flop_of(attention_ops(llama3_8b(), {}, shape, 0), KernelKind::attention_forward);
    };
    EXPECT_DOUBLE_EQ(flop(both), flop(one) + flop(other));
    EXPECT_EQ(attention_ops(llama3_8b(), {}, both, 0).size(), 1U);
}

// A sequence verifies its proposals in one pass: as many rows, the cache read once.
TEST(ServingStep, ProposalsAreRowsOfOneKernel) {
    const BatchShape plain{
        .tokens = 8, .sampled = 8, .generating = 8, .generating_context = 8000, .chunks = {}};
    BatchShape drafted = plain;
    drafted.tokens = drafted.sampled = 8 * 4;
    drafted.drafted = 8 * 3;
    const auto attention = [](const BatchShape& shape) {
        const auto ops = attention_ops(llama3_8b(), {}, shape, 0);
        EXPECT_EQ(ops.size(), 1U);
        return std::get<KernelCall>(ops.front().work);
    };
    EXPECT_NEAR(attention(drafted).flop / attention(plain).flop, 4, 0.02);
    EXPECT_LT(20 * attention(drafted).bytes, 21 * attention(plain).bytes);
    const auto products = [](const BatchShape& shape) {
        return flop_of(serving_ops(llama3_8b(), {}, shape, 0), KernelKind::gemm);
    };
    EXPECT_DOUBLE_EQ(products(drafted), 4 * products(plain));
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
    EXPECT_DOUBLE_EQ(sum, flop_of(serving_ops(llama3_70b(), {}, shape, 0), KernelKind::gemm));
}

// Experts of DeepSeek-V3's size in small numbers.
Transformer with_experts() {
    Transformer model = llama(4, 1024, 4096, 8, 32000);
    model.num_experts = 16;
    model.moe_router_topk = 2;
    model.moe_ffn_hidden_size = 512;
    model.first_k_dense_replace = 1;
    return model;
}

// Two products of a token's experts in each of three layers, and a dense layer's three weights.
TEST(ServingStep, TokensMeetTheirExpertsAlone) {
    const BatchShape silent{.tokens = 4096, .chunks = {{.new_tokens = 4096}}};
    const double with = flop_of(serving_ops(with_experts(), {}, silent, 0), KernelKind::gemm);
    Transformer dense = with_experts();
    dense.num_experts = 0;
    const double without = flop_of(serving_ops(dense, {}, silent, 0), KernelKind::gemm);
    const double mlp = 2 * 3.0 * 1024 * 4096;
    const double experts = 2 * 3.0 * 1024 * 512 * 2;
    const double router = 2 * 1024.0 * 16;
    EXPECT_DOUBLE_EQ(without - with, 4096 * 3 * (mlp - experts - router));
}

TEST(ServingStep, RanksHoldDifferentExpertsOrPartsOfEach) {
    const BatchShape shape{.tokens = 4096, .chunks = {{.new_tokens = 4096}}};
    const auto experts_of = [&](const ServingPlan& plan) {
        double flop = 0;
        for (const ServingOp& op : serving_ops(with_experts(), plan, shape, 0)) {
            if (op.name == "expert fc1" || op.name == "expert fc2") {
                flop += std::get<KernelCall>(op.work).flop * static_cast<double>(op.count);
            }
        }
        return flop;
    };
    const double all = experts_of({});
    EXPECT_DOUBLE_EQ(experts_of({.tensor_model_parallel_size = 4}), all / 4);
    EXPECT_DOUBLE_EQ(experts_of({.tensor_model_parallel_size = 4, .expert_model_parallel_size = 4}),
                     all / 4);
    EXPECT_DOUBLE_EQ(experts_of({.data_parallel_size = 4, .expert_model_parallel_size = 2}),
                     all / 4);
}

// A rank of four has a quarter of the 8,192 rows. With a mask its kernels see all of them, and its
// products write zeros for three quarters.
TEST(ServingStep, MaskedExpertsCostRowsOfOtherRanks) {
    const BatchShape shape{.tokens = 4096, .chunks = {{.new_tokens = 4096}}};
    ServingPlan plan{.tensor_model_parallel_size = 4, .expert_model_parallel_size = 4};
    const auto own = serving_ops(with_experts(), plan, shape, 0);
    plan.masks_experts = true;
    const auto masked = serving_ops(with_experts(), plan, shape, 0);
    const auto more = [&](std::string_view name) {
        return kernel_of(masked, name).bytes - kernel_of(own, name).bytes;
    };
    EXPECT_EQ(more("expert fc1"), 6144 * 2 * 512 * 2);
    EXPECT_EQ(more("expert fc2"), 6144 * 1024 * 2);
    EXPECT_EQ(more("unpermute"), (6144 + 2048) * 1024 * 2);
    EXPECT_EQ(more("permute"), 0);
    EXPECT_EQ(kernel_of(masked, "expert activation").bytes,
              4 * kernel_of(own, "expert activation").bytes);
    EXPECT_EQ(kernel_of(masked, "expert fc1").flop, kernel_of(own, "expert fc1").flop);
}

// Eight tokens with two experts each: 16 experts in turn, 10.5 of them at random.
TEST(ServingStep, ExpertsInTurnAreAllReached) {
    const BatchShape shape{.tokens = 8, .chunks = {{.new_tokens = 8}}};
    const auto random = serving_ops(with_experts(), {}, shape, 0);
    const auto in_turn = serving_ops(with_experts(), {.balanced_experts = true}, shape, 0);
    EXPECT_EQ(kernel_of(random, "expert fc1").dims[3], 11);
    EXPECT_EQ(kernel_of(in_turn, "expert fc1").dims[3], 16);
}

// The same work in fewer or in fuller experts: fewer weights are read, and more tiles are partial.
TEST(ServingStep, UnequalLoadsReachFewerExperts) {
    const BatchShape few{.tokens = 8, .chunks = {{.new_tokens = 8}}};
    const auto equal = serving_ops(with_experts(), {}, few, 0);
    const auto unequal = serving_ops(with_experts(), {.expert_skew = 2}, few, 0);
    EXPECT_LT(kernel_of(unequal, "expert fc1").dims[3], kernel_of(equal, "expert fc1").dims[3]);
    EXPECT_LT(kernel_of(unequal, "expert fc1").bytes, kernel_of(equal, "expert fc1").bytes);
    const BatchShape many{.tokens = 1024, .chunks = {{.new_tokens = 1024}}};
    const auto whole = serving_ops(with_experts(), {}, many, 0);
    const auto partial = serving_ops(with_experts(), {.expert_skew = 1.2}, many, 0);
    EXPECT_GT(kernel_of(partial, "expert fc1").dims[4], kernel_of(whole, "expert fc1").dims[4]);
    EXPECT_EQ(kernel_of(partial, "expert fc1").flop, kernel_of(whole, "expert fc1").flop);
}

// Data-parallel ranks gather the tokens of a layer's experts and add up their outputs.
TEST(ServingStep, DataParallelRanksGatherTokensOfExperts) {
    const BatchShape shape{
        .tokens = 64, .sampled = 64, .generating = 64, .generating_context = 6400};
    const auto ops = serving_ops(
        with_experts(), {.data_parallel_size = 2, .expert_model_parallel_size = 2}, shape, 0);
    EXPECT_EQ(bytes_of_collectives(ops, CollectiveKind::all_gather), 3 * 64 * 1024 * 2);
    EXPECT_EQ(bytes_of_collectives(ops, CollectiveKind::reduce_scatter), 3 * 64 * 1024 * 2);
    EXPECT_EQ(bytes_of_collectives(ops, CollectiveKind::all_reduce), 0);
}

// A sequence that generates reads the latent vectors once, as keys and as values: 576 values of
// DeepSeek-V3's; FLOP = 2 heads (576 + 512) a cached token.
TEST(ServingStep, LatentAttentionReadsOneVector) {
    Transformer model = llama(1, 7168, 18432, 128, 129280);
    model.multi_latent_attention = true;
    model.num_attention_heads = 128;
    model.q_lora_rank = 1536;
    const BatchShape shape{
        .tokens = 8, .sampled = 8, .generating = 8, .generating_context = 8 * 4096};
    const auto ops = attention_ops(model, {.key_value_precision = Dtype::fp8}, shape, 0);
    ASSERT_EQ(ops.size(), 4U);
    EXPECT_EQ(ops[3].name, "head order");
    EXPECT_EQ(ops[3].count, 3);
    const ServingPlan fused{.key_value_precision = Dtype::fp8, .fused_cache_write = true};
    EXPECT_EQ(attention_ops(model, fused, shape, 0).size(), 3U);
    const auto& call = std::get<KernelCall>(ops[1].work);
    EXPECT_DOUBLE_EQ(call.flop, 8 * 4096 * 2.0 * 128 * (576 + 512));
    const double queries_and_outputs = 8 * 128 * (576.0 + 512) * 2;
    EXPECT_NEAR(static_cast<double>(call.bytes), 8 * 4096 * 576 + queries_and_outputs, 8 * 128 * 8);
}

// Keys and values of prompts come from a product in FP8 with scales of blocks, as projections do;
// the absorbed products of sequences that generate have 16 bits.
TEST(ServingStep, KeysAndValuesOfPromptsHaveThePrecisionOfProjections) {
    Transformer model = llama(1, 7168, 18432, 128, 129280);
    model.multi_latent_attention = true;
    model.num_attention_heads = 128;
    model.q_lora_rank = 1536;
    BatchShape shape{.tokens = 1001,
                     .sampled = 1,
                     .generating = 1,
                     .generating_context = 100,
                     .chunks = {{.new_tokens = 1000, .context = 24}}};
    ServingPlan plan{.precision = ProductPrecision::fp8, .weight_bits = 8, .block_scaled = true};
    const auto ops = attention_ops(model, plan, shape, 0);
    const KernelCall& up = kernel_of(ops, "key value up");
    EXPECT_EQ(up.dtype, Dtype::fp8);
    EXPECT_TRUE(is_block_scaled(up));
    EXPECT_DOUBLE_EQ(up.flop, 2.0 * 1024 * 128 * 256 * 512);
    EXPECT_EQ(kernel_of(ops, kQuantise).bytes,
              quantise_operand(1024, 512, ProductPrecision::fp8).bytes);
    EXPECT_EQ(kernel_of(ops, "query absorption").dtype, Dtype::bf16);
    for (const ServingOp& op : ops) {
        EXPECT_TRUE(op.of_context) << op.name;
    }
    plan.attention_in_16_bits = true;
    const auto half = attention_ops(model, plan, shape, 0);
    EXPECT_EQ(kernel_of(half, "key value up").dtype, Dtype::bf16);
    EXPECT_EQ(half.size() + 1, ops.size());
}

// Its projections read twice the weights, and no kernel quantises their operands.
TEST(ServingStep, AttentionMayKeep16Bits) {
    const BatchShape shape{
        .tokens = 1, .sampled = 1, .generating = 1, .generating_context = 100, .chunks = {}};
    ServingPlan plan{.precision = ProductPrecision::fp8, .weight_bits = 8};
    const auto casts = [&] {
        std::int64_t count = 0;
        for (const ServingOp& op : serving_ops(llama3_8b(), plan, shape, 0)) {
            count += op.name == kQuantise ? op.count : 0;
        }
        return count;
    };
    const std::vector<ServingOp> all = serving_ops(llama3_8b(), plan, shape, 0);
    EXPECT_EQ(casts(), 4 * 32);
    plan.attention_in_16_bits = true;
    const std::vector<ServingOp> some = serving_ops(llama3_8b(), plan, shape, 0);
    EXPECT_EQ(casts(), 2 * 32);
    constexpr std::int64_t kQkv = 4096LL * (4096 + 2 * 1024);
    EXPECT_EQ(kernel_of(all, "qkv").dtype, Dtype::fp8);
    EXPECT_EQ(kernel_of(some, "qkv").dtype, Dtype::bf16);
    EXPECT_NEAR(static_cast<double>(kernel_of(some, "qkv").bytes - kernel_of(all, "qkv").bytes),
                kQkv,
                0.01 * kQkv);
    EXPECT_EQ(kernel_of(some, "fc1").dtype, Dtype::fp8);
    EXPECT_EQ(kernel_of(some, "fc1").bytes, kernel_of(all, "fc1").bytes);
}

TEST(ServingStep, FourBitsAreHalfOfTheTraffic) {
    const BatchShape shape{.tokens = 1, .sampled = 1, .generating = 1, .generating_context = 100};
    const auto bytes = [&](const ServingPlan& plan) {
        std::int64_t sum = 0;
        for (const ServingOp& op : serving_ops(llama3_8b(), plan, shape, 0)) {
            if (op.name == "fc1") {
                sum = std::get<KernelCall>(op.work).bytes;
                EXPECT_EQ(op.fp4, plan.precision == ProductPrecision::fp4);
            }
        }
        return static_cast<double>(sum);
    };
    const double fp8 = bytes({.precision = ProductPrecision::fp8, .weight_bits = 8});
    const double fp4 = bytes({.precision = ProductPrecision::fp4, .weight_bits = 4});
    EXPECT_NEAR(fp4 / fp8, 0.5, 0.001);
}

// By hand: of the query projection x is read, A, and x A written; then x A and B, and the sum that
// is added to is read and written. Each adapter's A and B are read once.
TEST(ServingStep, AdaptersAreTwoSmallProductsOfEachProjection) {
    const BatchShape shape{
        .tokens = 32, .generating = 32, .generating_context = 3200, .chunks = {}, .adapters = 8};
    const auto plain = serving_ops(llama3_8b(), {}, shape, 0);
    const auto ops = serving_ops(llama3_8b(), {.adapter_rank = 16}, shape, 0);
    // Columns in and out of the seven projections: q, k, v, o, gate, up, down.
    const double sides = 2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336);
    EXPECT_EQ(flop_of(ops, KernelKind::gemm) - flop_of(plain, KernelKind::gemm),
              2.0 * 32 * 16 * sides * 32);
    std::int64_t bytes = 0;
    std::int64_t kernels = 0;
    for (const ServingOp& op : ops) {
        if (op.name.starts_with("adapter")) {
            bytes += std::get<KernelCall>(op.work).bytes * op.count;
            kernels += op.count;
        }
    }
    EXPECT_EQ(kernels, 2 * 7 * 32);
    const std::int64_t weights = 8 * 16 * static_cast<std::int64_t>(sides);
    const std::int64_t inputs = 32 * (3 * 4096 + 4096 + 2 * 4096 + 14336);
    const std::int64_t outputs = 32 * (4096 + 2 * 1024 + 4096 + 2 * 14336 + 4096);
    EXPECT_EQ(bytes, 2 * 32 * (weights + inputs + 2 * outputs + 2 * 7 * 32 * 16));
}

TEST(ServingStep, ANormOfTheEmbeddingRunsOnce) {
    Transformer model = llama3_8b();
    const BatchShape shape{.tokens = 4, .chunks = {{.new_tokens = 4}}};
    const std::size_t without = serving_ops(model, {}, shape, 0).size();
    model.embed_layernorm = true;
    const std::vector<ServingOp> ops = serving_ops(model, {}, shape, 0);
    EXPECT_EQ(ops.size(), without + 1);
    EXPECT_EQ(kernel_of(ops, "embedding norm").kind, KernelKind::rmsnorm_forward);
}

// Gemma 2: a norm of its own behind attention and behind the MLP of every layer.
TEST(ServingStep, NormsOfOutputsRunOnceALayer) {
    Transformer model = llama3_8b();
    const BatchShape shape{.tokens = 4, .chunks = {{.new_tokens = 4}}};
    const std::size_t without = serving_ops(model, {}, shape, 0).size();
    model.sandwich_norm = true;
    const std::vector<ServingOp> ops = serving_ops(model, {}, shape, 0);
    EXPECT_EQ(ops.size(), without + 2);
    for (const char* name : {"projection norm", "fc2 norm"}) {
        EXPECT_EQ(kernel_of(ops, name).kind, KernelKind::rmsnorm_forward);
    }
}

}  // namespace
}  // namespace orrery
