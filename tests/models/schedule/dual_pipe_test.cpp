// SPDX-License-Identifier: Apache-2.0
#include "models/schedule/dual_pipe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/schedule/dual_pipe_walk.h"

namespace orrery {
namespace {

struct DualCase {
    std::int32_t stages;
    std::int32_t micro_batches;
    std::int64_t makespan;
};

// A pair that takes as long as its two passes: every rank idles by the paper's formula.
TEST(DualPipe, MakespansOfPairsWithoutGain) {
    for (const DualCase& c : {DualCase{2, 4, 12},
                              DualCase{4, 8, 26},
                              DualCase{4, 10, 32},
                              DualCase{8, 16, 54},
                              DualCase{8, 20, 66},
                              DualCase{8, 32, 102},
                              DualCase{16, 32, 110},
                              DualCase{16, 64, 206}}) {
        const DualPipeRun run = dual_pipe_run(c.stages, c.micro_batches, {});
        EXPECT_EQ(run.makespan, c.makespan) << c.stages << " " << c.micro_batches;
        for (const std::int64_t idle : run.idle) {
            EXPECT_EQ(idle, dual_pipe_bubble(c.stages, {}));
        }
    }
}

TEST(DualPipe, AFasterPairIdlesLessThanTheFormula) {
    const DualPassTimes times{.forward = 10, .backward = 20, .weight = 8, .pair = 24};
    for (const DualCase& c : {DualCase{4, 8, 240},
                              DualCase{8, 16, 492},
                              DualCase{8, 20, 588},
                              DualCase{16, 64, 1768}}) {
        EXPECT_EQ(dual_pipe_run(c.stages, c.micro_batches, times).makespan, c.makespan);
    }
    const DualPipeRun run = dual_pipe_run(8, 16, times);
    EXPECT_EQ(std::ranges::min(run.idle), 42);
    EXPECT_EQ(std::ranges::max(run.idle), 54);
    EXPECT_EQ(dual_pipe_bubble(8, times), 60);
}

// The same on half the ranks: a rank's stages are as many, and so are its passes.
TEST(DualPipe, TheVHasTheBubbleOfTwiceTheRanks) {
    for (const std::int32_t ranks : {1, 2, 4, 8}) {
        const DualPipeRun run = dual_pipe_v_run(ranks, 4 * ranks, {});
        EXPECT_EQ(run.makespan, 4 * ranks * 2 * 3 + dual_pipe_bubble(2 * ranks, {}));
    }
}

TEST(DualPipe, FirstRanksHavePairs) {
    constexpr std::int32_t kStages = 8;
    constexpr std::int32_t kBatches = 20;
    const auto pairs = std::ranges::count(
        dual_pipe_steps(kStages, kBatches, 0), DualStepKind::pair, &DualStep::kind);
    EXPECT_EQ(pairs, 2 * (kBatches / 2 - kStages + 1) + kStages / 2 - 1);
}

// Every rank runs each pass of its two stages once, weights' gradients included.
TEST(DualPipe, NoPassIsMissing) {
    for (std::int32_t rank = 0; rank < 4; ++rank) {
        for (const bool v : {false, true}) {
            const ScheduleShape shape{.stages = 4, .chunks = 2, .micro_batches = 10};
            const StageOrder order = v ? dual_pipe_v(shape, rank) : dual_pipe(shape, rank);
            const auto count = [&](Pass pass) {
                return std::ranges::count(order, pass, &WorkItem::pass);
            };
            const std::int64_t all = v ? 20 : 10;
            EXPECT_EQ(count(Pass::forward), all);
            EXPECT_EQ(count(Pass::backward) + count(Pass::backward_input), all);
            EXPECT_EQ(count(Pass::backward_weight), count(Pass::backward_input));
        }
    }
}

}  // namespace
}  // namespace orrery
