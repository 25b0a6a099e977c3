// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/cuda/simulated_device.h"

namespace orrery {
namespace {

std::unique_ptr<CudaDevice> open_simulated() {
    simulated::begin_device(1);
    auto device = CudaDevice::open({.name = "GPU of 1 GiB"});
    EXPECT_TRUE(device);
    return std::move(*device);
}

TEST(CudaDevice, HasAStreamForEachOfAProgram) {
    const auto device = open_simulated();
    for (std::size_t a = 0; a < kNumStreams; ++a) {
        EXPECT_NE(device->stream(to_id<StreamId>(a)), nullptr);
        for (std::size_t b = 0; b < a; ++b) {
            EXPECT_NE(device->stream(to_id<StreamId>(a)), device->stream(to_id<StreamId>(b)));
        }
    }
}

TEST(CudaDevice, OpensAGpuOfTheMachineByItsNumber) {
    simulated::begin_device(1);
    const auto first = CudaDevice::open_ordinal(0);
    ASSERT_TRUE(first) << first.error().to_string();
    EXPECT_EQ((*first)->info().ordinal, 0);
    const auto other = CudaDevice::open_ordinal(1'000);
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().what, testing::StartsWith("GPU 1000 is asked for, and "));
}

TEST(CudaDevice, SaysWhatNeedsMoreMemoryThanThereIs) {
    const auto device = open_simulated();
    simulated::limit_memory(std::int64_t{1} << 30);
    EXPECT_EQ(*device->allocate(0, "nothing", ""), nullptr);
    ASSERT_TRUE(device->allocate(std::int64_t{1} << 29, "half", ""));
    const auto more = device->allocate(
        std::int64_t{3} << 29, "the tensors of a training step", "a smaller micro-batch");
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().what,
              "the tensors of a training step needs 1.50 GiB, and GPU of 1 GiB has 0.50 GiB left "
              "of 16.00");
    EXPECT_EQ(more.error().hint, "a smaller micro-batch");
}

TEST(CudaDevice, MakesEventsThatAreNotEachOther) {
    const auto device = open_simulated();
    const auto first = device->make_event(true);
    const auto second = device->make_event(false);
    ASSERT_TRUE(first && second);
    EXPECT_NE(*first, *second);
}

}  // namespace
}  // namespace orrery
