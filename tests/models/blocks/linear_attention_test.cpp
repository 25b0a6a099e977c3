// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/linear_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "models/plan/flops.h"
#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

Transformer linear_model(std::int64_t seq) {
    Transformer model = small_llama();
    model.num_query_groups = 4;
    model.linear_attention_every = 1;
    model.seq_length = seq;
    return model;
}

std::int64_t ring_bytes(const Program& program) {
    std::int64_t bytes = 0;
    for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
        if (op.kind() == OpKind::send_recv) {
            for (const SendRecvPart& part : program.send_recv(op).parts) {
                bytes += part.is_send ? part.bytes.count() : 0;
            }
        }
    });
    return bytes;
}

// head_dim x head_dim a head and hop, forward and backward, whatever the sequence.
TEST(LinearAttention, ARingCarriesOneMatrixAHead) {
    const ParallelPlan plan{.context_parallel_size = 4};
    constexpr std::int64_t kMatrices = 4 * 64 * 64 * 2;
    for (const std::int64_t seq : {4096, 16384}) {
        EXPECT_EQ(ring_bytes(verified(linear_model(seq), plan)), 2 * 2 * 3 * kMatrices);
    }
}

TEST(LinearAttention, WorkGrowsWithTheSequenceAsOfOneMatrixAHead) {
    const auto flop = [](std::int64_t seq) {
        return model_flops(linear_model(seq), 1).full_attention.count();
    };
    EXPECT_DOUBLE_EQ(flop(8192), 2 * flop(4096));
    Transformer softmax = linear_model(4096);
    softmax.linear_attention_every = 0;
    // 4 s^2 d instead of 4 s d^2 FLOP a head, layer and forward pass.
    const double less = 3.0 * 2 * 4 * (4.0 * 4096 * 4096 * 64 - 4.0 * 4096 * 64 * 64);
    EXPECT_NEAR(model_flops(softmax, 1).full_attention.count() - flop(4096), less, less * 1e-9);
}

TEST(LinearAttention, ReplacesTheKernelOfItsLayersAlone) {
    Transformer model = linear_model(4096);
    model.linear_attention_every = 2;
    const Program program = verified(model, {});
    EXPECT_EQ(ops_called(program, "attention").size(), 1U);
    EXPECT_EQ(ops_called(program, "linear attention in blocks").size(), 1U);
    EXPECT_EQ(ops_called(program, "linear attention dQ").size(), 1U);
    EXPECT_TRUE(ops_called(program, "linear attention ring").empty());
}

// Heads that ranks exchange: no ring, and every rank has all tokens of its heads.
TEST(LinearAttention, ExchangesHeadsAsAnyAttentionDoes) {
    const Program program = verified(
        linear_model(4096),
        {.context_parallel_size = 2, .context_parallel_comm = ContextParallelComm::all_to_all});
    EXPECT_EQ(ring_bytes(program), 0);
    EXPECT_FALSE(ops_called(program, "qkv head exchange").empty());
}

// The lifetime of the tensors of this name.
Lifetime lifetime_of(const Program& program, std::string_view name) {
    const auto found = std::ranges::find(program.tensors, name, &Tensor::name);
    EXPECT_NE(found, program.tensors.end()) << name;
    return found == program.tensors.end() ? Lifetime::step : found->lifetime;
}

// Q, K and V by token are of no use behind the exchange, and neither is linear attention's output
// by head: the backward pass reads Q, K and V by head, and the projection its input by token.
TEST(LinearAttention, KeepsWhatTheBackwardPassReadsOnOneSideOfTheExchange) {
    const ParallelPlan ring{.context_parallel_size = 2};
    ParallelPlan exchange = ring;
    exchange.context_parallel_comm = ContextParallelComm::all_to_all;
    Transformer softmax = linear_model(4096);
    softmax.linear_attention_every = 0;
    const Program linear = verified(linear_model(4096), exchange);
    EXPECT_EQ(lifetime_of(linear, "qkv"), Lifetime::slot);
    EXPECT_EQ(lifetime_of(linear, "attention output"), Lifetime::slot);
    EXPECT_EQ(lifetime_of(linear, "qkv head exchange"), Lifetime::micro_batch);
    EXPECT_EQ(lifetime_of(linear, "context head exchange"), Lifetime::micro_batch);
    const Program plain = verified(softmax, exchange);
    EXPECT_EQ(lifetime_of(plain, "qkv"), Lifetime::slot);
    EXPECT_EQ(lifetime_of(plain, "attention output"), Lifetime::micro_batch);
    const Program of_ring = verified(linear_model(4096), ring);
    EXPECT_EQ(lifetime_of(of_ring, "qkv"), Lifetime::micro_batch);
    EXPECT_EQ(lifetime_of(of_ring, "attention output"), Lifetime::micro_batch);
}

// More ranks than key-value heads: each head is sent as often as ranks share it.
TEST(LinearAttention, HeadsThatRanksShareAreSentToAllOfThem) {
    Transformer model = small_llama();  // 4 heads, 2 of keys and values
    const ParallelPlan plan{.context_parallel_size = 4,
                            .context_parallel_comm = ContextParallelComm::all_to_all};
    const Program program = verified(model, plan);
    const auto tokens = model.seq_length / 4;
    EXPECT_EQ(bytes_of_tensor(program, "key value head copies"), tokens * (256 + 2 * 2 * 128) * 2);
    EXPECT_EQ(bytes_of_tensor(program, "key value gradient sum"), tokens * (256 + 2 * 128) * 2);
}

}  // namespace
}  // namespace orrery
