// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/latent_attention.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "tests/models/expert_models.h"
#include "tests/models/program_sums.h"

namespace orrery {
namespace latent_attention_test {

Transformer small_latent() {
    Transformer model = llama(2, 128, 256, 4, 512);
    model.num_attention_heads = model.num_query_groups = 4;
    model.seq_length = 64;
    model.multi_latent_attention = true;
    model.q_lora_rank = 64;
    model.kv_lora_rank = 32;
    model.qk_head_dim = 16;
    model.qk_pos_emb_head_dim = 8;
    model.v_head_dim = 16;
    return model;
}

const Tensor& tensor_named(const Program& program, std::string_view name) {
    for (const Tensor& tensor : program.tensors) {
        if (tensor.name == name) {
            return tensor;
        }
    }
    ADD_FAILURE() << name;
    return program.tensors.front();
}

// Heads of queries and keys are of another size than heads of values.
TEST(LatentAttention, CoreHasTwoHeadSizes) {
    const Transformer model = small_latent();
    const Program program = lower(model, {.global_batch_size = 1});
    const double pairs = 2 * 64.0 * 65 / 2 * 4;  // of two layers and four heads
    EXPECT_EQ(executed_flop(program, KernelKind::attention_forward), pairs * 2 * (24 + 16));
    EXPECT_DOUBLE_EQ(executed_flop(program, KernelKind::attention_backward),
                     pairs * 2 * (3 * 24 + 2 * 16));
    EXPECT_EQ(tensor_named(program, "packed heads").bytes.count(), 64 * 4 * (24 + 24 + 16) * 2);
    EXPECT_EQ(tensor_named(program, "attention output").bytes.count(), 64 * 4 * 16 * 2);
}

// Launches of the ops of this name, and the bytes that they move.
std::pair<std::int64_t, std::int64_t> launched(const Program& program, std::string_view name) {
    std::pair<std::int64_t, std::int64_t> sums;
    for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
        if (program.names[op.name] == name) {
            sums.first += op.launches;
            sums.second += program.kernel(op).bytes;
        }
    });
    return sums;
}

// Two layers of 64 tokens and four heads, of which 8 dimensions are rotated in 16 bits.
TEST(LatentAttention, AnEagerRotaryEmbeddingIsAChainOfOperators) {
    const Program eager = lower(small_latent(), {.global_batch_size = 1, .eager_rope = true});
    const std::int64_t pass = 2 * 64 * 4 * 8 * 2 * 2;  // reads and writes
    EXPECT_EQ(launched(eager, "rotary operators"), std::pair(std::int64_t{2 * 28}, 7 * pass));
    EXPECT_EQ(launched(eager, "rotary operators backward"),
              std::pair(std::int64_t{2 * 30}, 11 * pass));
    const Program fused = lower(small_latent(), {.global_batch_size = 1});
    EXPECT_EQ(launched(fused, "rotary operators").first, 0);
    const Program compiled =
        lower(small_latent(), {.global_batch_size = 1, .eager_rope = true, .compiled = true});
    EXPECT_EQ(launched(compiled, "rotary operators").first, 0);
}

// Each layer's 28 operators are calls at first, and four calls when they run again.
TEST(LatentAttention, AnEagerRotaryEmbeddingRunsAgainInFewerCalls) {
    ParallelPlan plan{.global_batch_size = 1, .eager_rope = true};
    plan.recompute_granularity = Recompute::selective;
    plan.recompute_modules = static_cast<std::uint32_t>(RecomputeModule::mla_up_proj);
    EXPECT_EQ(launched(lower(small_latent(), plan), "rotary operators").first, 2 * (28 + 4));
    plan.eager_framework = false;
    EXPECT_EQ(launched(lower(small_latent(), plan), "rotary operators").first, 2 * (28 + 28));
}

// Latent vectors are made of each rank's part of the sequence; the key that heads share is gathered
// as such, not by head.
TEST(LatentAttention, TensorParallelRanksShareTheLatentVectors) {
    const Transformer model = small_latent();
    const Program program =
        lower(model,
              {.tensor_model_parallel_size = 2, .sequence_parallel = true, .global_batch_size = 1});
    EXPECT_EQ(tensor_named(program, "key value latent").bytes.count(), 64 / 2 * 32 * 2);
    EXPECT_EQ(tensor_named(program, "shared key gather").bytes.count(), 64 * 8 * 2);
    const Tensor& down =
        tensor_named(program, "layers.0.self_attention.linear_kv_down_proj.weight");
    EXPECT_EQ(down.bytes.count(), 128 * (32 + 8) * 2);
    const Tensor& up = tensor_named(program, "layers.0.self_attention.linear_kv_up_proj.weight");
    EXPECT_EQ(up.bytes.count(), 32 * 4 * (16 + 16) / 2 * 2);
}

TEST(LatentAttention, HeadsAreMadeAgainOnRequest) {
    const Transformer model = small_latent();
    ParallelPlan plan{.global_batch_size = 1};
    const Program kept = lower(model, plan);
    EXPECT_EQ(tensor_named(kept, "packed heads").lifetime, Lifetime::micro_batch);
    plan.recompute_granularity = Recompute::selective;
    plan.recompute_modules = static_cast<std::uint32_t>(RecomputeModule::mla_up_proj);
    const Program again = lower(model, plan);
    EXPECT_EQ(tensor_named(again, "packed heads").lifetime, Lifetime::slot);
    EXPECT_GT(executed_flop(again, KernelKind::gemm), executed_flop(kept, KernelKind::gemm));
}

TEST(LatentAttention, NormsOfHeadsHaveTheirOwnWeights) {
    Transformer model = llama(1, 128, 256, 2, 512);
    model.num_attention_heads = 4;
    model.kv_channels = 32;
    model.seq_length = 64;
    model.qk_layernorm = true;
    const Program program = lower(model, {.global_batch_size = 1});
    EXPECT_EQ(tensor_named(program, "layers.0.self_attention.q_layernorm").bytes.count(), 64);
    EXPECT_EQ(tensor_named(program, "normed heads").bytes.count(), 64 * (4 + 2 + 2) * 32 * 2);
}

}  // namespace latent_attention_test
}  // namespace orrery
