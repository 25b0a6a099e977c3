// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/expert_moves.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cast/cast.h"
#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

constexpr TokenDispatcher kExchanging[] = {TokenDispatcher::alltoall,
                                           TokenDispatcher::hierarchical,
                                           TokenDispatcher::two_dimensional,
                                           TokenDispatcher::deepep,
                                           TokenDispatcher::deepep_low_latency,
                                           TokenDispatcher::hybridep,
                                           TokenDispatcher::host_driven};

TEST(ExpertMoves, TheProgramSaysWhichLibraryMovesItsRows) {
    const Transformer model = small_experts();
    for (const TokenDispatcher by : kExchanging) {
        ParallelPlan plan = four_ranks();
        plan.moe_token_dispatcher_type = by;
        const std::vector<CollectiveCall> calls = row_exchanges(verified(model, plan));
        ASSERT_FALSE(calls.empty());
        bool back = false;
        for (const CollectiveCall& call : calls) {
            EXPECT_EQ(call.rows.dispatcher, static_cast<int>(by) + 1);
            EXPECT_EQ(call.rows.experts, 8);
            EXPECT_EQ(call.rows.choices, 2);
            EXPECT_EQ(call.rows.tokens, model.seq_length);
            back |= call.rows.combine;
        }
        EXPECT_TRUE(back);
    }
}

// Libraries that send a row once for each rank copy it behind the exchange, and send the weights
// beside it.
TEST(ExpertMoves, CopiesAreMadeOnTheSideOfTheLibrarysChoice) {
    ParallelPlan plan = four_ranks();
    const Program flat = verified(small_experts(), plan);
    EXPECT_GT(count_ops(flat, "permute"), 0);
    EXPECT_GT(count_ops(flat, "dispatch of weights"), 0);
    EXPECT_EQ(count_ops(flat, "copies of rows"), 0);
    plan.moe_token_dispatcher_type = TokenDispatcher::deepep;
    const Program once = verified(small_experts(), plan);
    EXPECT_EQ(count_ops(once, "permute"), 0);
    EXPECT_EQ(count_ops(once, "dispatch of weights"), 0);
    EXPECT_GT(count_ops(once, "copies of rows"), 0);
}

TEST(ExpertMoves, RowsTravelInFp8OnTheirWayToExpertsOnly) {
    Transformer model = small_experts();
    model.hidden_size = 256;
    ParallelPlan plan = four_ranks();
    plan.moe_token_dispatcher_type = TokenDispatcher::deepep;
    plan.moe_dispatch_dtype = Dtype::fp8;
    for (const CollectiveCall& call : row_exchanges(verified(model, plan))) {
        EXPECT_EQ(call.rows.row.count(), call.rows.combine ? 2 * 256 : 256 + 256 / 128 * 4);
    }
}

TEST(ExpertMoves, GroupsLimitTheNodesOfAToken) {
    Transformer model = small_experts();
    model.moe_router_num_groups = 4;
    model.moe_router_group_topk = 2;
    for (const CollectiveCall& call : row_exchanges(verified(model, four_ranks()))) {
        EXPECT_EQ(call.rows.server_limit, 2);
    }
}

TEST(ExpertMoves, LoadsOfRanksAreInTheExchange) {
    ParallelPlan plan = four_ranks();
    plan.moe_router_load = RouterLoad::hot;
    plan.moe_router_load_alpha = 3;
    for (const CollectiveCall& call : row_exchanges(verified(small_experts(), plan))) {
        ASSERT_EQ(call.rows.shares.size(), 4U);
        // A hot expert with 3/8 of all rows, and another of 5/8 / 7.
        EXPECT_NEAR(std::ranges::max(call.rows.shares) * 1e-6, 3.0 / 8 + 5.0 / 56, 1e-5);
    }
}

// 2 of 8 experts, which 4 ranks share: a token's consecutive ones are on one rank, and drawn ones
// on 2 - 2 / 14 in the mean.
TEST(ExpertMoves, ConsecutiveExpertsTakeOneRowOfAToken) {
    Transformer model = small_experts();
    model.moe_router_num_groups = 4;
    model.moe_router_group_topk = 2;
    ParallelPlan plan = four_ranks();
    plan.moe_token_dispatcher_type = TokenDispatcher::deepep;
    const auto rows_of_experts = [&] {
        const Program program = verified(model, plan);
        std::int64_t rows = 0;
        for (const Tensor& tensor : program.tensors) {
            rows = tensor.name == "dispatch" ? tensor.global_shape[kSequence] : rows;
        }
        return rows;
    };
    for (const CollectiveCall& call : row_exchanges(verified(model, plan))) {
        EXPECT_FALSE(call.rows.consecutive);
    }
    EXPECT_GT(rows_of_experts(), model.seq_length);
    plan.moe_router_load = RouterLoad::consecutive;
    for (const CollectiveCall& call : row_exchanges(verified(model, plan))) {
        EXPECT_TRUE(call.rows.consecutive);
        EXPECT_EQ(call.rows.server_limit, 0);  // this choice knows no groups
        EXPECT_TRUE(call.rows.shares.empty());
    }
    EXPECT_EQ(rows_of_experts(), model.seq_length);
}

// DeepEP's combine and the sum behind it save nothing, and what comes before them runs again. An
// all-to-all is followed by a permutation, which saves its map.
TEST(ExpertMoves, EarlyStopLeavesOutTheCombine) {
    const auto ops = [](TokenDispatcher by, bool stops, std::string_view name) {
        ParallelPlan plan = four_ranks();
        plan.moe_token_dispatcher_type = by;
        plan.recompute_granularity = Recompute::full;
        plan.checkpoint_early_stop = stops;
        return count_ops(verified(small_experts(), plan), name);
    };
    constexpr auto kOnce = TokenDispatcher::deepep;
    EXPECT_GT(ops(kOnce, true, "combine"), 0);
    EXPECT_EQ(ops(kOnce, true, "combine") * 2, ops(kOnce, false, "combine"));
    for (const char* before : {"expert fc2", "sums of copies"}) {
        EXPECT_GT(ops(kOnce, true, before), 0);
        EXPECT_EQ(ops(kOnce, true, before), ops(kOnce, false, before));
    }
    constexpr auto kForEach = TokenDispatcher::alltoall;
    EXPECT_EQ(ops(kForEach, true, "combine"), ops(kForEach, false, "combine"));
}

TEST(ExpertMoves, TheSmsOfALibraryAreTheCallers) {
    ParallelPlan plan = four_ranks();
    plan.moe_token_dispatcher_type = TokenDispatcher::hybridep;
    plan.moe_dispatcher_sms = 32;
    for (const CollectiveCall& call : row_exchanges(verified(small_experts(), plan))) {
        EXPECT_EQ(call.mover.sm_limit, 32);
    }
}

}  // namespace
}  // namespace orrery
