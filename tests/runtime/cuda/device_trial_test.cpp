// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/device_trial.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/cuda/simulated_device.h"

namespace orrery {
namespace {

TEST(DeviceTrial, AlikeIsCloseInEveryTensorAndNeverNaN) {
    const Samples expected{{1.0f, -2.0f}, {100.0f}};
    EXPECT_TRUE(alike(expected, expected, Dtype::fp32));
    EXPECT_TRUE(alike({{1.001f, -2.0f}, {100.5f}}, expected, Dtype::bf16));
    EXPECT_FALSE(alike({{1.001f, -2.0f}, {100.5f}}, expected, Dtype::fp32));
    EXPECT_FALSE(alike({{1.0f, -2.0f}, {102.0f}}, expected, Dtype::bf16));
    EXPECT_FALSE(alike({{1.0f, NAN}, {100.0f}}, expected, Dtype::bf16));
    EXPECT_FALSE(alike({{0.0f}}, {{0.0f}}, Dtype::bf16)) << "zeros show nothing";
}

TEST(DeviceTrial, SaysWhyAWayIsNotTaken) {
    TriedWay tried{.work = "attention_forward bf16 128 x 64",
                   .way = "wgmma",
                   .difference = 1.234e-3,
                   .alike = true,
                   .repeats = true,
                   .seconds = 12.34e-6};
    EXPECT_TRUE(tried.taken());
    EXPECT_EQ(trial_line(tried),
              "tried attention_forward bf16 128 x 64, wgmma: off by 1.2e-03, 12.3 us: taken");
    tried.best_s = 10e-6;
    EXPECT_FALSE(tried.taken());
    EXPECT_TRUE(tried.right());
    EXPECT_NE(trial_line(tried).find("12.3 us: slower than 10.0 us"), std::string::npos);
    tried.repeats = false;
    EXPECT_FALSE(tried.right());
    EXPECT_NE(trial_line(tried).find("WRONG: other bits the second time"), std::string::npos);
    tried.difference = relative_difference({{NAN}}, {{1.0f}});
    tried.alike = false;
    EXPECT_NE(trial_line(tried).find("off by inf, 12.3 us: WRONG"), std::string::npos)
        << trial_line(tried);
}

// A result has NaNs before the work, a sum the same numbers every time, and what is read others.
TEST(DeviceTrial, BeginsEveryWayFromTheSame) {
    simulated::begin_device(1);
    cudaStream_t stream = nullptr;
    cudaEvent_t events[2] = {};
    cudaStreamCreateWithPriority(&stream, 0, 0);
    for (cudaEvent_t& event : events) {
        cudaEventCreateWithFlags(&event, 0);
    }
    std::vector<float> memory(30, 7.0f);
    const auto view = [&](std::size_t i) {
        return TensorView{reinterpret_cast<std::byte*>(memory.data() + 10 * i), Dtype::fp32, 10};
    };
    const DeviceTrial trial{{.read = {view(0)}, .written = {view(1)}, .added = {view(2)}},
                            stream,
                            events[0],
                            events[1]};
    ASSERT_TRUE(trial.draw());
    const auto add_one = [&]() -> Result<void> {
        simulated::enqueue(stream, [&] {
            memory[20] += 1.0f + memory[0];
            return true;
        });
        return {};
    };
    const auto first = trial.results_of(add_one);
    const auto second = trial.results_of(add_one);
    ASSERT_TRUE(first && second);
    EXPECT_TRUE(std::isnan((*first)[0][0]));
    EXPECT_EQ((*first)[1], (*second)[1]);
    EXPECT_NEAR(static_cast<double>((*first)[1][0] - 1.0f - memory[0]),
                static_cast<double>((*first)[1][10] - 1.0f - memory[0]),
                0);
    const auto seconds = trial.time_of(add_one);
    ASSERT_TRUE(seconds);
    EXPECT_GE(*seconds, 0);
    for (cudaEvent_t& event : events) {
        cudaEventDestroy(event);
    }
    cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace orrery
