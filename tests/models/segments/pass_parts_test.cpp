// SPDX-License-Identifier: Apache-2.0
#include "models/segments/pass_parts.h"

#include <gtest/gtest.h>

#include "models/memory/memory.h"
#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

ParallelPlan overlapped() {
    ParallelPlan plan = four_ranks();
    plan.overlap_moe_expert_parallel_comm = true;
    return plan;
}

// Two parts a layer and pass, and one behind the last exchange.
TEST(PassParts, EndWithExchanges) {
    const Transformer model = small_experts();
    const Program program = verified(model, overlapped());
    std::int64_t parts = 0;
    for (const Slot& slot : program.roles[0].slots) {
        parts += slot.pass == Pass::forward && slot.micro_batch == 0 ? 1 : 0;
    }
    EXPECT_EQ(parts, 2 * model.num_layers + 1);
}

// F0, then the parts of B0 and F1 in turn, …, then the last backward pass.
TEST(PassParts, OfTwoMicroBatchesTakeTurns) {
    const Program program = verified(small_experts(), overlapped());
    std::vector<std::pair<Pass, std::int32_t>> order;
    for (const Slot& slot : program.roles[0].slots) {
        if (slot.pass == Pass::forward || slot.pass == Pass::backward) {
            order.emplace_back(slot.pass, slot.micro_batch);
        }
    }
    ASSERT_EQ(order.size(), 40U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(order[i], std::pair(Pass::forward, 0));
    }
    for (std::size_t i = 5; i < 35; ++i) {
        const auto pair = static_cast<std::int32_t>((i - 5) / 10);
        EXPECT_EQ(order[i],
                  (i - 5) % 2 == 0 ? std::pair(Pass::backward, pair)
                                   : std::pair(Pass::forward, pair + 1));
    }
}

TEST(PassParts, DoTheSameWork) {
    const Transformer model = small_experts();
    const Program plain = verified(model, four_ranks());
    ParallelPlan plan = overlapped();
    for (const bool delays : {false, true}) {
        plan.delay_wgrad_compute = delays;
        const Program cut = verified(model, plan);
        EXPECT_EQ(executed_flop(cut, KernelKind::gemm), executed_flop(plain, KernelKind::gemm));
        EXPECT_EQ(count_ops(cut, "dispatch"), count_ops(plain, "dispatch"));
        EXPECT_EQ(count_ops(cut, "qkv wgrad"), count_ops(plain, "qkv wgrad"));
    }
}

// One more forward pass is in flight.
TEST(PassParts, KeepOneMicroBatchMore) {
    const Transformer model = small_experts();
    const auto kept = [&](const ParallelPlan& plan) {
        return role_memory(verified(model, plan), to_id<RoleId>(0), Bytes{})
            .at_peak[TensorKind::activations]
            .count();
    };
    EXPECT_GT(kept(overlapped()), kept(four_ranks()));
}

}  // namespace
}  // namespace orrery
