// SPDX-License-Identifier: Apache-2.0
// How runtime/cuda/cuda_launches.cpp runs a plan: graphs, streams, times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "runtime/cuda/cuda_executor.h"
#include "tests/runtime/cuda/simulated_training.h"

namespace orrery {
namespace {

TEST(CudaLaunches, TellsHowMuchOfAStepIsGraphs) {
    simulated::begin_device(1);
    std::vector<std::string> notes;
    train_rank(tiny_gpt(), tiny_plan(), DeviceChoice::cuda, nullptr, &notes);
    const auto graphs = std::ranges::find_if(
        notes, [](const std::string& line) { return line.find("in graphs") != line.npos; });
    ASSERT_NE(graphs, notes.end());
    EXPECT_EQ(graphs->substr(0, 7), "100.0 %") << *graphs;
}

// Streams do run beside each other here, or the test above would show nothing.
TEST(CudaLaunches, StreamsOverlapAndWait) {
    const ParallelPlan plan = parallel_cases()[1].plan;
    std::mutex mutex;
    simulated::Counts most;
    run_as_ranks(3, [&](std::unique_ptr<Transport> transport) {
        simulated::begin_device(9 + transport->rank());
        train_rank(tiny_gpt(), plan, DeviceChoice::cuda, transport.get());
        const std::lock_guard lock{mutex};
        most.waits = std::max(most.waits, simulated::counts().waits);
        most.streams_at_once = std::max(most.streams_at_once, simulated::counts().streams_at_once);
    });
    EXPECT_GE(most.streams_at_once, 2);
    EXPECT_GT(most.waits, 5);
}

// Every kernel of a step has a time, on some of the steps.
TEST(CudaLaunches, TimesKernelsByEvents) {
    simulated::begin_device(3);
    const TrainingJob job{.device = DeviceChoice::cuda, .steps = 50, .seed = 5, .eval_steps = 0};
    auto trainer = Trainer::create(tiny_gpt(), tiny_plan(), job, some_text());
    ASSERT_TRUE(trainer);
    OpTimes times{(*trainer)->program()};
    (*trainer)->executor().measure(&times);
    for (int s = 0; s < 4; ++s) {
        ASSERT_TRUE((*trainer)->step());
    }
    const Profile profile = times.profile("simulated");
    EXPECT_GE(profile.size(), 10u);
    for (const auto& row : profile) {
        EXPECT_GT(row.median.seconds(), 0);
    }
}

// What events read around nothing is not a kernel's.
TEST(CudaLaunches, TakesTheTimeOfTheEventsOff) {
    simulated::begin_device(3);
    constexpr double kAdded = 3600;
    simulated::add_to_event_times(kAdded);
    const TrainingJob job{.device = DeviceChoice::cuda, .steps = 50, .seed = 5, .eval_steps = 0};
    auto trainer = Trainer::create(tiny_gpt(), tiny_plan(), job, some_text());
    ASSERT_TRUE(trainer);
    OpTimes times{(*trainer)->program()};
    (*trainer)->executor().measure(&times);
    for (int s = 0; s < 3; ++s) {
        ASSERT_TRUE((*trainer)->step());
    }
    for (const auto& row : times.profile("simulated")) {
        EXPECT_GT(row.median.seconds(), 0);
        EXPECT_LT(row.median.seconds(), kAdded);
    }
}

// A program whose ops run on the simulated device, ready for a step.
Result<std::unique_ptr<CudaExecutor>> executor_of(const Program& program,
                                                  const CudaOptions& options) {
    return CudaExecutor::create(program, RankId{0}, nullptr, options);
}

TEST(CudaLaunches, ADeviceThatDoesNotEndIsAnErrorAfterTheDeadline) {
    simulated::begin_device(3);
    const Program program = lower(tiny_gpt(), tiny_plan());
    auto executor = executor_of(program, {.device_deadline = std::chrono::milliseconds{30}});
    ASSERT_TRUE(executor);
    simulated::hang();
    const Result<void> done = (*executor)->run_step();
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().what.find("did not end a step"), std::string::npos) << done.error().what;
    EXPECT_EQ((*executor)->run_step().error(), done.error());
}

TEST(CudaLaunches, LeavesGraphsOutWhereItIsTold) {
    for (const char* words : {"", "graphs"}) {
        simulated::begin_device(3);
        setenv(kCudaWithout, words, 1);
        std::vector<std::string> notes;
        train_rank(tiny_gpt(), tiny_plan(), DeviceChoice::cuda, nullptr, &notes);
        unsetenv(kCudaWithout);
        EXPECT_EQ(simulated::counts().graph_launches > 0, *words == 0);
        EXPECT_EQ(std::ranges::count(notes, "without graphs"), *words == 0 ? 0 : 1);
    }
}

}  // namespace
}  // namespace orrery
