// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "models/lowering/lowering.h"
#include "models/segments/segment_builder.h"
#include "tests/models/drawn_plans.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace graph_plan_test {

EagerReason only_kernels(const Op& op) {
    return op.kind() == OpKind::kernel ? EagerReason::none : EagerReason::communication;
}

struct Planned {
    explicit Planned(const Program& program, RankId id = RankId{0})
        : rank(program, id),
          launches(plan_launches(rank, Walk::step)),
          graphs(plan_graphs(rank, launches, only_kernels)) {}
    RankProgram rank;
    LaunchPlan launches;
    GraphPlan graphs;
};

// Launched piece by piece, every launch comes once, those of a stream in their order, and whatever
// a piece waits for has been recorded.
TEST(GraphPlan, LaunchesEverythingOnceAfterWhatItWaitsFor) {
    std::int64_t waits = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        const Planned planned{program};
        std::set<std::uint32_t> done;
        std::array<std::int64_t, kNumStreams> last{};
        last.fill(-1);
        for (const GraphPiece& piece : planned.graphs.pieces) {
            const Launch& first = planned.launches.launches[piece.launches.front()];
            for (const std::uint32_t wait : first.waits) {
                EXPECT_TRUE(done.contains(wait)) << d.text();
                ++waits;
            }
            for (const std::uint32_t i : piece.launches) {
                const Launch& launch = planned.launches.launches[i];
                EXPECT_EQ(launch.stream, first.stream);
                EXPECT_LT(last[index(launch.stream)], i);
                last[index(launch.stream)] = i;
                EXPECT_TRUE(i == piece.launches.front() || launch.waits.empty()) << d.text();
                EXPECT_TRUE(i == piece.launches.back() || !launch.awaited) << d.text();
                EXPECT_TRUE(done.insert(i).second);
            }
        }
        EXPECT_EQ(done.size(), planned.launches.launches.size());
    }
    EXPECT_GT(waits, 1000);
}

TEST(GraphPlan, PiecesOfOneSlotOnlyAndNoCommunication) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        const Planned planned{program};
        for (const GraphPiece& piece : planned.graphs.pieces) {
            for (const std::uint32_t i : piece.launches) {
                const Launch& launch = planned.launches.launches[i];
                EXPECT_EQ(launch.slot, planned.launches.launches[piece.launches[0]].slot);
                const bool kernel =
                    planned.rank.op(launch.slot, launch.op).kind() == OpKind::kernel;
                EXPECT_EQ(kernel, piece.eager != EagerReason::communication);
            }
            EXPECT_TRUE(piece.launches.size() == 1 || piece.eager == EagerReason::none);
        }
    }
}

// The goal for a dense model on one GPU: practically all of it.
TEST(GraphPlan, OfADenseStepOnOneDeviceAtLeast95PercentOfTheKernels) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const Planned planned{program};
    EXPECT_GE(planned.graphs.share_in_graphs(), 0.95);
    std::int64_t kernels = 0;
    for (const Launch& l : planned.launches.launches) {
        kernels += planned.rank.op(l.slot, l.op).launches;
    }
    EXPECT_EQ(planned.graphs.total_kernels(), kernels);
}

TEST(GraphPlan, DataParallelStepsKeepTheirKernelsInGraphs) {
    ParallelPlan plan = tiny_plan();
    plan.data_parallel_size = 4;
    plan.micro_batch_size = 1;
    plan.global_batch_size = 8;
    plan.overlap_grad_reduce = true;
    plan.overlap_param_gather = true;
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    const Program program = lower(tiny_gpt(), plan);
    const Planned planned{program};
    EXPECT_GE(planned.graphs.share_in_graphs(), 0.9);
    EXPECT_LT(planned.graphs.share_in_graphs(), 1.0);  // the norm stands between two collectives
}

TEST(GraphPlan, WhatNeedsTheHostIsLaunchedByItself) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const RankProgram rank{program, RankId{0}};
    const LaunchPlan launches = plan_launches(rank, Walk::step);
    const GraphPlan graphs = plan_graphs(rank, launches, [&](const Op& op) {
        return program.kernel(op).kind == KernelKind::adamw ? EagerReason::host_work
                                                            : EagerReason::none;
    });
    EXPECT_EQ(graphs.kernels[static_cast<std::size_t>(EagerReason::host_work)], 1);
    EXPECT_EQ(name(EagerReason::host_work), "needs the host");
    EXPECT_NE(name(EagerReason::alone), name(EagerReason::none));
}

}  // namespace graph_plan_test
}  // namespace orrery
