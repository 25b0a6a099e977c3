// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/unfused_attention.h"

#include <gtest/gtest.h>

#include <map>

#include "models/lowering/lowering.h"
#include "tests/models/known_models.h"
#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

Program unfused_program(double dropout) {
    const Transformer model{.num_layers = 1,
                            .hidden_size = 16,
                            .ffn_hidden_size = 32,
                            .num_attention_heads = 4,
                            .num_query_groups = 2,
                            .kv_channels = 8,
                            .seq_length = 8,
                            .vocab_size = 32,
                            .dropout = dropout};
    return lower(model, {.attention_kernel = AttentionKernel::unfused});
}

// Q, K and V are each the operand of two products and the result of one.
TEST(UnfusedAttention, ProductsReadAndMakeEachPartOfTheHeads) {
    const Program program = unfused_program(0);
    std::vector<int> read(3);
    std::vector<int> written(3);
    double flop = 0;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind() != OpKind::kernel || program.kernel(op).dims[3] != 4) {
                continue;
            }
            flop += program.kernel(op).flop;
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                const Operand& operand = program.operands[op.first_operand + i];
                if (operand.part >= 0) {
                    ++(operand.access == Access::read
                           ? read
                           : written)[static_cast<std::size_t>(operand.part)];
                }
            }
        }
    }
    EXPECT_EQ(read, (std::vector<int>{2, 2, 2}));
    EXPECT_EQ(written, (std::vector<int>{1, 1, 1}));
    EXPECT_EQ(flop, 6.0 * 2 * 8 * 8 * 8 * 4);  // nothing that the mask hides is skipped
}

// Heads of queries and keys of 24, of values of 16: the scores and their gradients have the first
// size, the values and what becomes of them the second.
TEST(UnfusedAttention, LatentHeadsHaveTwoSizes) {
    Transformer model = llama(1, 128, 256, 4, 512);
    model.num_attention_heads = model.num_query_groups = 4;
    model.seq_length = 64;
    model.multi_latent_attention = true;
    model.kv_lora_rank = 32;
    model.qk_head_dim = 16;
    model.qk_pos_emb_head_dim = 8;
    model.v_head_dim = 16;
    const Program program =
        lower(model, {.global_batch_size = 1, .attention_kernel = AttentionKernel::unfused});
    std::map<std::string, double> flop;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind() == OpKind::kernel && program.kernel(op).dims[3] == 4) {
                flop[std::string{program.names[op.name]}] = program.kernel(op).flop;
            }
        }
    }
    const double pairs = 2.0 * 64 * 64 * 4;
    const std::map<std::string, double> sizes{{"attention scores", 24 * pairs},
                                              {"attention values", 16 * pairs},
                                              {"values dV", 16 * pairs},
                                              {"values dP", 16 * pairs},
                                              {"scores dQ", 24 * pairs},
                                              {"scores dK", 24 * pairs}};
    EXPECT_EQ(flop, sizes);
}

struct OperatorsOfAttention {
    int calls = 0;  // of the host
    std::int64_t bytes = 0;
    bool operator==(const OperatorsOfAttention&) const = default;
};

std::map<std::string, OperatorsOfAttention> operators_of_attention(const ParallelPlan& plan) {
    Transformer model = llama(1, 128, 256, 4, 512);
    model.num_attention_heads = 4;
    model.seq_length = 64;
    const Program program = verified(model, plan);
    std::map<std::string, OperatorsOfAttention> found;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            const std::string name{program.names[op.name]};
            if (name.starts_with("attention mask") || name.starts_with("attention context copy") ||
                name.starts_with("scores backward scale")) {
                found[name].calls += op.launches;
                found[name].bytes += program.kernel(op).bytes;
            }
        }
    }
    return found;
}

// The mask is one for all heads. A pass that runs again counts operators as PyTorch's, seven of
// which take the host as long as a call; a checkpoint has four calls. Compilers make none of these
// operators.
TEST(UnfusedAttention, TransformerEnginesHasOperatorsAroundItsKernels) {
    ParallelPlan plan{.global_batch_size = 1,
                      .recompute_granularity = Recompute::none,
                      .attention_kernel = AttentionKernel::unfused};
    using Operators = std::map<std::string, OperatorsOfAttention>;
    EXPECT_EQ(operators_of_attention(plan), Operators{});
    plan.eager_attention = true;
    const std::int64_t pairs = 64 * 64;
    const std::int64_t heads = 64 * 4 * 128;
    EXPECT_EQ(operators_of_attention(plan),
              (Operators{{"attention mask", {.calls = 11, .bytes = 81 * pairs}},
                         {"attention context copy", {.calls = 1, .bytes = 4 * heads}},
                         {"scores backward scale", {.calls = 2, .bytes = 4 * 2 * heads}}}));
    plan.recompute_granularity = Recompute::selective;  // of core attention
    EXPECT_EQ(operators_of_attention(plan)["attention mask"],
              (OperatorsOfAttention{.calls = 11 + 2 + 4, .bytes = 2 * 81 * pairs}));
    plan.compiled = true;
    EXPECT_EQ(operators_of_attention(plan), Operators{});
}

TEST(UnfusedAttention, DropoutKeepsItsMaskForTheBackwardPass) {
    const auto masks = [](const Program& program) {
        int count = 0;
        for (const Tensor& tensor : program.tensors) {
            if (tensor.name == "attention dropout mask") {
                EXPECT_EQ(tensor.lifetime, Lifetime::micro_batch);
                EXPECT_EQ(tensor.random_purpose,
                          static_cast<int>(RandomPurpose::attention_dropout));
                ++count;
            }
        }
        return count;
    };
    EXPECT_EQ(masks(unfused_program(0.1)), 1);
    EXPECT_EQ(masks(unfused_program(0)), 0);
}

}  // namespace
}  // namespace orrery
