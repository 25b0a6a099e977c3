// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "models/plan/pipeline_split.h"
#include "models/plan/validate_plan.h"

namespace orrery {
namespace {

Transformer small_model() {
    Transformer model;
    model.num_layers = 6;
    model.hidden_size = 64;
    model.ffn_hidden_size = 256;
    model.num_attention_heads = 4;
    model.num_query_groups = 4;
    model.kv_channels = 16;
    model.seq_length = 128;
    model.vocab_size = 512;
    return model;
}

using Identity = std::tuple<std::int64_t,
                            std::int64_t,
                            std::int64_t,
                            std::int64_t,
                            std::int64_t,
                            ShardingStrategy,
                            Recompute,
                            ScheduleKind,
                            bool,
                            RankOrder,
                            StageSplit>;

Identity identity(const PlanPoint& point) {
    const ParallelPlan& p = point.plan;
    return {p.tensor_model_parallel_size,
            p.pipeline_model_parallel_size,
            p.virtual_pipeline_model_parallel_size,
            p.context_parallel_size,
            p.micro_batch_size,
            p.data_parallel_sharding_strategy,
            p.recompute_granularity,
            p.schedule,
            p.overlap_grad_reduce || p.overlap_p2p || p.tp_comm_overlap,
            p.rank_order,
            point.split};
}

struct Visited {
    std::vector<PlanPoint> plans;
    std::map<std::string, std::int64_t> refused;
    std::int64_t points = 0;
};

Visited visit(const PlanSpace& space,
              const Transformer& model,
              std::int64_t batch,
              std::int64_t gpus) {
    ParallelPlan base;
    base.global_batch_size = batch;
    Visited visited;
    visited.points = for_each_plan(
        space,
        model,
        base,
        {gpus, 4},
        [&](PlanPoint point) { visited.plans.push_back(std::move(point)); },
        visited.refused);
    return visited;
}

TEST(PlanSpace, VisitsOnlyPlansThatTheModelAndTheClusterAdmitAndEachOnce) {
    const Visited all = visit({}, small_model(), 16, 8);
    ASSERT_GT(all.plans.size(), 500u);
    std::set<Identity> seen;
    for (const PlanPoint& point : all.plans) {
        EXPECT_TRUE(check(small_model(), point.plan, 8).empty());
        EXPECT_EQ(point.plan.data_parallel_size, derived_data_parallel_size(point.plan, 8));
        // One GPU, no overlap to switch: both values are the same plan.
        const bool single = point.plan.data_parallel_size * point.plan.context_parallel_size == 1;
        if (!single) {
            EXPECT_TRUE(seen.insert(identity(point)).second);
        }
    }
}

TEST(PlanSpace, CountsEveryPointAsVisitedOrRefused) {
    const Visited all = visit({}, small_model(), 16, 8);
    std::int64_t refused = 0;
    for (const auto& [rule, count] : all.refused) {
        refused += count;
    }
    EXPECT_EQ(all.points, refused + static_cast<std::int64_t>(all.plans.size()));
    EXPECT_GT(refused, 0);
}

// An independent enumeration of the sizes alone.
TEST(PlanSpace, HasAllSizesThatDivide) {
    PlanSpace space;
    space.sharding = {ShardingStrategy::no_shard};
    space.recompute = {Recompute::none};
    space.schedules = {ScheduleKind::one_f_one_b};
    space.overlap = {false};
    space.rank_orders = {RankOrder::tp_cp_dp_pp};
    space.splits = {StageSplit::even};
    space.virtual_pipeline_model_parallel_size = {1};
    const Visited all = visit(space, small_model(), 16, 8);
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>> seen;
    for (const PlanPoint& point : all.plans) {
        seen.insert({point.plan.tensor_model_parallel_size,
                     point.plan.pipeline_model_parallel_size,
                     point.plan.context_parallel_size,
                     point.plan.micro_batch_size});
    }
    std::size_t due = 0;
    for (std::int64_t tp = 1; tp <= 4; ++tp) {
        for (std::int64_t pp = 1; pp <= 6; ++pp) {
            for (std::int64_t cp = 1; cp <= 8; ++cp) {
                for (std::int64_t size = 1; size <= 16; ++size) {
                    const bool divides = 8 % (tp * pp * cp) == 0 && 4 % tp == 0 && 6 % pp == 0;
                    if (divides && 16 % (8 / (tp * pp * cp) * size) == 0) {
                        ++due;
                        EXPECT_TRUE(seen.contains({tp, pp, cp, size}))
                            << tp << ' ' << pp << ' ' << cp << ' ' << size;
                    }
                }
            }
        }
    }
    EXPECT_EQ(seen.size(), due);
}

TEST(PlanSpace, AListNarrowsIt) {
    PlanSpace space;
    space.tensor_model_parallel_size = {2};
    space.recompute = {Recompute::full};
    const Visited some = visit(space, small_model(), 16, 8);
    ASSERT_FALSE(some.plans.empty());
    for (const PlanPoint& point : some.plans) {
        EXPECT_EQ(point.plan.tensor_model_parallel_size, 2);
        EXPECT_EQ(point.plan.recompute_granularity, Recompute::full);
    }
}

double slowest(const std::vector<std::int64_t>& layout,
               std::int64_t stages,
               double first,
               double last) {
    std::vector<double> of_stage(static_cast<std::size_t>(stages), 0);
    for (std::size_t place = 0; place < layout.size(); ++place) {
        of_stage[place % of_stage.size()] += static_cast<double>(layout[place]);
    }
    of_stage.front() += first;
    of_stage.back() += last;
    return *std::ranges::max_element(of_stage);
}

TEST(BalancedLayout, HasAllLayersAndNoFasterSlowestStageExists) {
    for (const double last : {0.0, 0.6, 1.4, 3.2}) {
        for (std::int64_t layers = 3; layers <= 8; ++layers) {
            const auto layout = balanced_layout(layers, 3, 1, 0.3, last);
            EXPECT_EQ(std::accumulate(layout.begin(), layout.end(), std::int64_t{0}), layers);
            double best = 1e9;
            for (std::int64_t a = 0; a <= layers; ++a) {
                for (std::int64_t b = 0; a + b <= layers; ++b) {
                    best = std::min(best, slowest({a, b, layers - a - b}, 3, 0.3, last));
                }
            }
            EXPECT_DOUBLE_EQ(slowest(layout, 3, 0.3, last), best) << layers << ' ' << last;
        }
    }
}

TEST(BalancedLayout, IsASplitThatAPlanMayHaveHoweverHeavyTheEnds) {
    Transformer model = small_model();
    model.num_layers = 12;
    for (const double end : {0.0, 0.4, 5.4, 100.0}) {
        for (const auto& [stages, chunks] : {std::pair{2, 1}, {2, 3}, {2, 6}, {4, 3}, {7, 2}}) {
            for (const bool first : {false, true}) {
                ParallelPlan plan{.pipeline_model_parallel_size = stages,
                                  .virtual_pipeline_model_parallel_size = chunks};
                plan.pipeline_layout =
                    balanced_layout(model.num_layers, stages, chunks, first ? end : 0, end);
                EXPECT_TRUE(check_pipeline_split(model, plan).empty())
                    << stages << " x " << chunks << ", ends " << end;
            }
        }
    }
}

TEST(BalancedLayout, WithoutExtrasIsEvenOverTheChunks) {
    EXPECT_EQ(balanced_layout(12, 2, 3, 0, 0), (std::vector<std::int64_t>(6, 2)));
    // A layer takes three times as long on the second stage.
    const std::vector<double> costs{1, 3};
    EXPECT_EQ(balanced_layout(12, 2, 1, 0, 0, costs), (std::vector<std::int64_t>{9, 3}));
    EXPECT_EQ(balanced_layout(16, 2, 2, 0, 0, costs), (std::vector<std::int64_t>{6, 2, 6, 2}));
    EXPECT_EQ(balanced_layout(12, 2, 1, 3, 0, costs), (std::vector<std::int64_t>{8, 4}));
}

}  // namespace
}  // namespace orrery
