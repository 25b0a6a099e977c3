// SPDX-License-Identifier: Apache-2.0
#include "models/experts/routed_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "kernels/gemm/grouped_gemm.h"
#include "models/lowering/lowering.h"
#include "tests/models/expert_models.h"

namespace orrery {
namespace routed_step_test {

Transformer small() {
    Transformer model = small_experts();
    model.num_layers = 3;
    model.first_k_dense_replace = 1;
    return model;
}

ParallelPlan plan_of(RouterLoad load) {
    return {.data_parallel_size = 8,
            .global_batch_size = 8 * 3,
            .expert_model_parallel_size = 4,
            .moe_router_load = load,
            .moe_router_load_alpha = 1.2};
}

struct Routed {
    Routed(const Transformer& model, const ParallelPlan& plan) {
        program = lower(model, plan, tensors);
        step = route_step(model, plan, program, tensors);
    }
    std::vector<RoutedTensor> tensors;
    Program program;
    std::optional<RoutedStep> step;
};

std::uint32_t draw(const StepLoad& load, std::uint32_t layer, std::uint32_t micro_batch) {
    return layer * load.micro_batches + micro_batch + 1;
}

TEST(RoutedStep, EqualLoadsNeedNone) {
    EXPECT_FALSE(Routed(small(), plan_of(RouterLoad::balanced)).step);
    ParallelPlan whole = plan_of(RouterLoad::zipf);
    whole.expert_model_parallel_size = 1;
    EXPECT_FALSE(Routed(small(), whole).step);
}

// Shares of the four ranks that share experts add up; each group and micro-batch draws for itself.
TEST(RoutedStep, EveryRankHasItsOwnRowsInEveryMicroBatch) {
    const Routed routed(small(), plan_of(RouterLoad::uniform));
    ASSERT_TRUE(routed.step);
    const StepLoad& load = routed.step->load;
    EXPECT_EQ(load.micro_batches, 3u);
    std::set<std::uint32_t> shares;
    for (std::uint32_t layer = 1; layer < 3; ++layer) {
        for (std::uint32_t m = 0; m < 3; ++m) {
            for (const std::uint32_t first : {0u, 4u}) {
                std::uint32_t sum = 0;
                for (std::uint32_t r = first; r < first + 4; ++r) {
                    const auto& own = load.of(RankId{r}, RoleId{0}, draw(load, layer, m));
                    sum += own.share;
                    shares.insert(own.share);
                }
                EXPECT_NEAR(sum, 1'000'000, 4);
            }
        }
    }
    EXPECT_GT(shares.size(), 15u);  // of 48
    EXPECT_EQ(load.first_draw[0][0], StepLoad::kNone);
    EXPECT_NE(load.signature(RankId{0}), load.signature(RankId{4}));
}

TEST(RoutedStep, GroupsOfAHotExpertAreAlike) {
    ParallelPlan plan = plan_of(RouterLoad::hot);
    plan.moe_router_load_alpha = 2;
    const Routed routed(small(), plan);
    const StepLoad& load = routed.step->load;
    for (std::uint32_t r = 0; r < 4; ++r) {
        EXPECT_EQ(load.signature(RankId{r}), load.signature(RankId{r + 4}));
    }
}

// Kernels of the busiest rank are those that the Program has, where that is the busiest of its
// layer; those of a fifth of the rows move a fifth of the bytes.
TEST(RoutedStep, KernelsFollowTheRowsOfTheirRank) {
    ParallelPlan plan = plan_of(RouterLoad::trace);
    Transformer model = small();
    plan.moe_router_load_trace.assign(static_cast<std::size_t>(model.num_experts), 1);
    for (std::int64_t e = 0; e < model.num_experts / 4; ++e) {
        plan.moe_router_load_trace[static_cast<std::size_t>(e)] = 5;
    }
    const Routed routed(model, plan);
    const RoutedStep& step = *routed.step;
    const StepLoad& load = step.load;
    ASSERT_EQ(load.num_levels, 2u);  // the busy rank's, and the others'
    const std::uint32_t busy = load.of(RankId{0}, RoleId{0}, draw(load, 1, 0)).level;
    const std::uint32_t other = load.of(RankId{1}, RoleId{0}, draw(load, 1, 0)).level;
    EXPECT_EQ(load.rows_of_level[busy], 5 * load.rows_of_level[other]);
    EXPECT_EQ(load.rows_of_level[busy], load.rows_of_router[1]);
    int products = 0;
    int moves = 0;
    for (std::size_t k = 0; k < routed.program.kernels.size(); ++k) {
        const auto id = to_id<KernelId>(k);
        if (load.column(id) == StepLoad::kNone) {
            continue;
        }
        const KernelCall& program = routed.program.kernels[k];
        const auto call = [&](std::uint32_t level) {
            return step.kernels[load.kernel(id, level) - routed.program.kernels.size()];
        };
        EXPECT_EQ(call(busy), program) << name(program.kind);
        products += is_grouped(program) ? 1 : 0;
        moves += is_grouped(program) ? 0 : 1;
        EXPECT_NEAR(call(other).flop, program.flop / 5, 1e-6 * program.flop + 1);
        if (!is_grouped(program)) {
            EXPECT_NEAR(
                static_cast<double>(call(other).bytes), static_cast<double>(program.bytes) / 5, 1);
        }
    }
    EXPECT_GE(products, 4);  // two, with two backward each, of which some are equal
    EXPECT_GE(moves, 3);
}

TEST(RoutedStep, ExchangesHaveTheirMembersRows) {
    const Routed routed(small(), plan_of(RouterLoad::zipf));
    const StepLoad& load = routed.step->load;
    const std::vector<RankId> members{RankId{4}, RankId{5}, RankId{6}, RankId{7}};
    int exchanges = 0;
    for (std::size_t s = 0; s < routed.program.segments.size(); ++s) {
        for (std::size_t o = 0; o < routed.program.segments[s].ops.size(); ++o) {
            const Op& op = routed.program.segments[s].ops[o];
            if (op.kind() != OpKind::collective ||
                routed.program.collective(op).kind != CollectiveKind::all_to_all) {
                continue;
            }
            ++exchanges;
            ASSERT_GT(load.routers[s][o], 1);
            const std::uint32_t d = draw(load, load.routers[s][o] - 1U, 2);
            const TransferCall call =
                load.call(routed.program.collective(op), d, RoleId{0}, members);
            const auto& shares = std::get<CollectiveCall>(call).rows.shares;
            ASSERT_EQ(shares.size(), 4u);
            for (std::size_t i = 0; i < 4; ++i) {
                EXPECT_EQ(shares[i], load.of(members[i], RoleId{0}, d).share);
            }
        }
    }
    EXPECT_GT(exchanges, 4);
}

TEST(RoutedStep, TheBusiestRankOfALayerIsNamed) {
    const Routed routed(small(), plan_of(RouterLoad::zipf));
    const RoutedStep& step = *routed.step;
    ASSERT_EQ(step.layers.size(), 2u);
    const LayerRows& layer = step.layers[1];
    EXPECT_EQ(layer.layer, 2);
    EXPECT_GE(layer.mean_of_most, layer.most * 0.9);
    EXPECT_GT(layer.most, 1.1);
    EXPECT_EQ(layer.dropped, 0);
    EXPECT_NEAR(std::accumulate(layer.of_experts.begin(), layer.of_experts.end(), 0.0),
                static_cast<double>(layer.of_experts.size()),
                1e-9);
    EXPECT_NEAR(std::accumulate(step.rows_of_rank.begin(), step.rows_of_rank.end(), 0.0), 8, 1e-9);
}

}  // namespace routed_step_test
}  // namespace orrery
