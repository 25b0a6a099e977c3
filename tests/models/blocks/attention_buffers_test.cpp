// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/attention_buffers.h"

#include <gtest/gtest.h>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

constexpr std::string_view kQuerySums = "query gradient sums";
constexpr std::string_view kOfEachHead = "key value gradients of query heads";

std::int64_t workspace_peak(const Program& program) {
    return role_memory(program, RoleId{0}, Bytes{}).at_peak[TensorKind::workspace].count();
}

// flash_api.cpp: dq_accum is fp32, dk_expanded and dv_expanded have the type of the queries.
TEST(AttentionBuffers, AreThoseOfFlashAttention2) {
    Transformer model = small_llama();
    model.num_query_groups = 2;
    const std::int64_t queries = model.seq_length * model.query_size();
    const Program without = verified(model, {});
    EXPECT_EQ(bytes_of_tensor(without, kQuerySums), 0);
    EXPECT_EQ(bytes_of_tensor(without, kOfEachHead), 0);
    const Program shared = verified(model, {.attention_backward_buffers = true});
    EXPECT_EQ(bytes_of_tensor(shared, kQuerySums), 4 * queries);
    EXPECT_EQ(bytes_of_tensor(shared, kOfEachHead), 2 * 2 * queries);
    model.num_query_groups = model.num_attention_heads;
    const Program own = verified(model, {.attention_backward_buffers = true});
    EXPECT_EQ(bytes_of_tensor(own, kQuerySums), 4 * queries);
    EXPECT_EQ(bytes_of_tensor(own, kOfEachHead), 0);
}

// With tiles, attention's backward pass is the moment when most is in use.
TEST(AttentionBuffers, CountAtThePeak) {
    Transformer model = small_llama();
    model.num_query_groups = 2;
    ParallelPlan plan{
        .recompute_granularity = Recompute::full, .mlp_tile_tokens = 256, .loss_tile_tokens = 256};
    const std::int64_t without = workspace_peak(verified(model, plan));
    plan.attention_backward_buffers = true;
    EXPECT_EQ(workspace_peak(verified(model, plan)) - without,
              (4 + 2 * 2) * model.seq_length * model.query_size());
}

// Ranks that exchange heads have some heads of all tokens. With a rank for each key-value head the
// query heads of a rank share one.
TEST(AttentionBuffers, AreOfTheHeadsOfARank) {
    Transformer model = small_llama();
    model.num_query_groups = 2;
    const Program program = verified(model,
                                     {.context_parallel_size = 2,
                                      .context_parallel_comm = ContextParallelComm::all_to_all,
                                      .attention_backward_buffers = true});
    const std::int64_t queries = model.seq_length * model.query_size() / 2;
    EXPECT_EQ(bytes_of_tensor(program, kQuerySums), 4 * queries);
    EXPECT_EQ(bytes_of_tensor(program, kOfEachHead), 2 * 2 * queries);
    // Four ranks have one query head each, and a copy of its keys and values.
    const Program copied = verified(model,
                                    {.context_parallel_size = 4,
                                     .context_parallel_comm = ContextParallelComm::all_to_all,
                                     .attention_backward_buffers = true});
    EXPECT_EQ(bytes_of_tensor(copied, kOfEachHead), 0);
}

}  // namespace
}  // namespace orrery
