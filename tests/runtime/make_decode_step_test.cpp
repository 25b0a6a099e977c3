// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_decode_step.h"

#include <gtest/gtest.h>

#include "runtime/cuda/devices.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

constexpr CacheShape kSmallCache{.num_blocks = 8, .block_size = 4};
constexpr StepLimits kSmallLimits{.tokens = 8, .sequences = 4};

TEST(MakeDecodeStep, ACpuTakesEveryServedModel) {
    const ServedModel served = *load_served_model(tiny_llama(), {}, 3);
    const auto step = make_decode_step(DeviceChoice::cpu, served, kSmallCache, kSmallLimits);
    ASSERT_TRUE(step);
    EXPECT_EQ((*step)->device_name(), "this machine's CPU");
    std::vector<float> logits;
    ASSERT_TRUE((*step)->run(
        std::vector<DecodeChunk>{{.tokens = {1, 2}, .blocks = {3}, .samples = true}}, logits));
    EXPECT_EQ(logits.size(), 32u);
}

TEST(MakeDecodeStep, WithoutAGpuItIsAnError) {
    const ServedModel served = *load_served_model(tiny_llama(), {}, 3);
    const auto step = make_decode_step(DeviceChoice::cuda, served, kSmallCache, kSmallLimits);
    const auto devices = cuda_devices();
    ASSERT_EQ(step.has_value(), devices.has_value());
    if (!step) {
        EXPECT_EQ(step.error().what, devices.error().what);
    }
}

}  // namespace
}  // namespace orrery
