// SPDX-License-Identifier: Apache-2.0
// How runtime/cuda/cuda_launches.cpp runs a plan: graphs, streams, times.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

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

}  // namespace
}  // namespace orrery
