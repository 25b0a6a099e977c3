// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/parameter_block.h"

#include <map>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

ParallelPlan two_tensor_parallel() {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    return plan;
}

std::map<std::string, const Tensor*> weights_of(const Program& program) {
    std::map<std::string, const Tensor*> weights;
    for (const Tensor& tensor : program.tensors) {
        if (tensor.kind == TensorKind::weights) {
            weights[tensor.parameter] = &tensor;
        }
    }
    return weights;
}

// How often each element of the whole is in the parts of the first two ranks.
std::vector<int> counts_of(const Program& program, const Tensor& weight) {
    std::vector<int> counts(
        static_cast<std::size_t>(weight.global_shape[0] * weight.global_shape[1]));
    for (const RankId rank : {RankId{0}, RankId{1}}) {
        const ParameterBlock block = block_of_parameter(program, weight, rank);
        EXPECT_EQ(block.local_elements(), weight.bytes.count() / size_bytes(weight.dtype));
        block.for_each_run({0, block.local_elements()},
                           [&](std::int64_t, std::int64_t global, std::int64_t count) {
                               for (std::int64_t i = 0; i < count; ++i) {
                                   ++counts[static_cast<std::size_t>(global + i)];
                               }
                           });
    }
    return counts;
}

TEST(ParameterBlock, TensorParallelRanksHaveEveryElementOnce) {
    Transformer model = tiny_llama();
    model.num_query_groups = 2;
    const Program program = lower(model, two_tensor_parallel());
    for (const auto& [name, weight] : weights_of(program)) {
        const bool copied = name.ends_with("layernorm");
        for (const int count : counts_of(program, *weight)) {
            ASSERT_EQ(count, copied ? 2 : 1) << name;
        }
    }
}

// Experts that two ranks split: each has half of the width of every one.
TEST(ParameterBlock, RanksThatSplitExpertsHaveEveryElementOnce) {
    Transformer model = tiny_llama();
    model.num_experts = 4;
    model.moe_ffn_hidden_size = 12;
    ParallelPlan plan = tiny_plan().launched_from_cpp();
    plan.data_parallel_size = 2;
    plan.expert_tensor_parallel_size = 2;
    const Program program = lower(model, plan);
    const auto weights = weights_of(program);
    for (const char* name :
         {"layers.0.mlp.experts.linear_fc1.weight", "layers.0.mlp.experts.linear_fc2.weight"}) {
        const Tensor& weight = *weights.at(name);
        const std::int64_t rows = weight.global_shape[0] * weight.global_shape[1];
        std::vector<int> counts(static_cast<std::size_t>(rows * weight.global_shape[2]));
        for (const RankId rank : {RankId{0}, RankId{1}}) {
            const ParameterBlock block = block_of_parameter(program, weight, rank);
            EXPECT_EQ(block.rows, rows);
            EXPECT_EQ(block.local_elements(), std::ssize(counts) / 2);
            block.for_each_run({0, block.local_elements()},
                               [&](std::int64_t, std::int64_t global, std::int64_t count) {
                                   for (std::int64_t i = 0; i < count; ++i) {
                                       ++counts[static_cast<std::size_t>(global + i)];
                                   }
                               });
        }
        EXPECT_EQ(counts, std::vector<int>(counts.size(), 1)) << name;
    }
}

TEST(ParameterBlock, AVocabularyThatDoesNotDivideIsPadded) {
    Transformer model = tiny_gpt();
    model.vocab_size = 31;
    const Program program = lower(model, two_tensor_parallel());
    const Tensor& embedding = *weights_of(program).at("embedding.word_embeddings.weight");
    for (const int count : counts_of(program, embedding)) {
        ASSERT_EQ(count, 1);
    }
    EXPECT_EQ(block_of_parameter(program, embedding, RankId{1}).row_pieces,
              (std::vector<BlockPiece>{{16, 15}, {-1, 1}}));
}

TEST(ParameterBlock, ARankHasTheQueriesKeysAndValuesOfItsHeads) {
    Transformer model = tiny_llama();
    model.num_query_groups = 2;
    const Program program = lower(model, two_tensor_parallel());
    const auto weights = weights_of(program);
    const auto columns = [&](const std::string& name) {
        return block_of_parameter(program, *weights.at(name), RankId{1}).column_pieces;
    };
    EXPECT_EQ(columns("layers.0.self_attention.linear_qkv.weight"),
              (std::vector<BlockPiece>{{8, 8}, {24, 8}, {40, 8}}));
    EXPECT_EQ(columns("layers.0.mlp.linear_fc1.weight"),
              (std::vector<BlockPiece>{{16, 16}, {48, 16}}));
    EXPECT_EQ(
        block_of_parameter(lower(model, tiny_plan()), *weights.at("final_layernorm"), RankId{0}),
        ParameterBlock::whole(1, 16));
}

TEST(ParameterBlock, RunsOfARangeAreItsElementsOneByOne) {
    const ParameterBlock block{7, 20, {{4, 2}, {-1, 1}}, {{3, 2}, {10, 4}, {-1, 1}}};
    ASSERT_EQ(block.local_elements(), 21);
    for (std::int64_t first = 0; first <= 21; ++first) {
        for (std::int64_t count = 0; first + count <= 21; ++count) {
            std::map<std::int64_t, std::int64_t> expected;
            for (std::int64_t i = first; i < first + count; ++i) {
                const std::int64_t column = i % 7;
                if (i / 7 < 2 && column < 6) {
                    expected[i] = (4 + i / 7) * 20 + (column < 2 ? 3 + column : 8 + column);
                }
            }
            std::map<std::int64_t, std::int64_t> actual;
            block.for_each_run({first, count},
                               [&](std::int64_t local, std::int64_t global, std::int64_t n) {
                                   for (std::int64_t i = 0; i < n; ++i) {
                                       EXPECT_TRUE(actual.emplace(local + i, global + i).second);
                                   }
                               });
            ASSERT_EQ(actual, expected) << first << " " << count;
        }
    }
}

TEST(ParameterBlock, IsReadAsItWasWritten) {
    const ParameterBlock block{7, 20, {{4, 2}, {-1, 1}}, {{3, 2}, {10, 4}, {-1, 1}}};
    EXPECT_EQ(*ParameterBlock::from_text(block.to_text()), block);
    EXPECT_EQ(block.to_text(), "7 20 2 4 2 -1 1 3 3 2 10 4 -1 1");
    for (const char* wrong : {"",
                              "7 20",
                              "7 20 1 0 7",
                              "7 20 1 0 8 1 0 20",
                              "7 20 1 0 7 1 0 20 1",
                              "7 20 1 0 -7 1 0 20",
                              "7 20 1 -2 7 1 0 20",
                              "7 20 1 8 1 1 0 20",
                              "7 20 3 -1 7 -1 7 -1 7 1 0 20",
                              "7 20 1 0 7 1000000000000 0 20",
                              "4611686018427387904 4611686018427387904 1 0 7 1 0 20",
                              "7 20 1 0 7 1 0 x"}) {
        EXPECT_FALSE(ParameterBlock::from_text(wrong)) << wrong;
    }
}

}  // namespace
}  // namespace orrery
