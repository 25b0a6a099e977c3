// SPDX-License-Identifier: Apache-2.0
#include "engine/world/kernel_runs.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/engine/program_builder.h"
#include "tests/engine/scripted_network.h"

namespace orrery {
namespace {

// The closed form must say what walking the run op by op says, whatever the launches.
TEST(KernelRuns, TheClosedFormIsTheWalk) {
    constexpr std::uint64_t kSeed = 3;
    std::mt19937_64 random(kSeed);
    const auto below = [&](std::int64_t n) {
        return Time::picoseconds(
            static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)));
    };
    for (int i = 0; i < 500; ++i) {
        ProgramBuilder b({{"r", 1}});
        for (int k = 0; k < 6; ++k) {
            b.kernel(below(1000), kCompute, {}, Cause::gemm_inefficiency, below(500));
        }
        const ScriptedNetwork network({});
        const Tapes tapes = build_tapes(b.program, below(800));
        const std::vector<RunTimes> runs = time_runs(b.input(network), tapes);
        ASSERT_EQ(runs.size(), 1u);
        const Time condition = below(3000);
        const Time launch = below(3000);
        PathTimes path;
        path[Cause::host] = condition;
        PathTimes host_path;
        host_path[Cause::launch] = launch;
        RunWalk walk;
        begin_walk(walk, runs[0], 100, condition, launch);
        const Time end = end_of_walk(walk, 0);
        EXPECT_EQ(end, std::max(condition + runs[0].duration, launch + runs[0].launch_bound));
        advance_walk(walk, end, 0, nullptr);
        ASSERT_TRUE(walk.done());
        PathTimes walked = walk.launch_bound ? host_path : path;
        add_walk(walked, walk);
        EXPECT_EQ(walked.total(), end);
        PathTimes expected = path;
        if (end > condition + runs[0].duration) {
            expected = host_path;
            expected += runs[0].launch_path;
        } else {
            expected += runs[0].work;
        }
        EXPECT_EQ(walked.of, expected.of) << "seed " << kSeed << ", case " << i;
        EXPECT_EQ(walk.stretch, Time{}) << "the work of the run is its busy time";
    }
}

TEST(KernelRuns, BlocksOfAPersistentKernelRunInWaves) {
    constexpr std::int64_t kOne = kFullKernelRate;
    EXPECT_EQ(persistent_work(0, 132, 1000), kOne);
    EXPECT_EQ(persistent_work(1, 132, 1000), 2 * kOne);
    EXPECT_EQ(persistent_work(66, 132, 1000), 2 * kOne);
    EXPECT_EQ(persistent_work(67, 132, 1000), 3 * kOne);
    EXPECT_EQ(persistent_work(132, 132, 1000), 4 * kOne);  // a quarter of the SMs remains
    EXPECT_EQ(persistent_work(20, 0, 1000), kOne);
    // What memory alone bounds loses nothing, in whatever order its blocks run.
    EXPECT_EQ(persistent_work(33, 132, 0), kOne);
    // At a sensitivity of 0.5, three quarters of the blocks run at 0.875 of the rate, the rest at
    // 0.625.
    EXPECT_NEAR(static_cast<double>(persistent_work(33, 132, 500)),
                static_cast<double>(kOne) * (0.75 / 0.875 + 0.25 / 0.625),
                2.0);
}

// However often the progress is looked at, the end stays the same. The first kernel is persistent.
TEST(KernelRuns, ProgressIsExactUnderAnyNumberOfLooks) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(Time::picoseconds(1'000'003));
    b.kernel(Time::picoseconds(777'777));
    const ScriptedNetwork network({});
    const Tapes tapes = build_tapes(b.program, Time{});
    SimulationInput input = b.input(network);
    input.devices[0].kernels[0].persistent = true;
    const std::vector<RunTimes> runs = time_runs(input, tapes);
    RunWalk walk;
    begin_walk(walk, runs[0], 100, {}, {});
    const Time end = end_of_walk(walk, 33);
    EXPECT_GT(end, runs[0].duration);
    for (std::int64_t ps = 0; Time::picoseconds(ps) < end; ps += 997) {
        advance_walk(walk, Time::picoseconds(ps), 33, nullptr);
        ASSERT_EQ(end_of_walk(walk, 33), end);
    }
    advance_walk(walk, end, 33, nullptr);
    EXPECT_TRUE(walk.done());
    EXPECT_EQ(walk.stretch, end - runs[0].duration);
    PathTimes path;
    add_walk(path, walk);
    EXPECT_EQ(path[Cause::interference], end - runs[0].duration);
}

}  // namespace
}  // namespace orrery
