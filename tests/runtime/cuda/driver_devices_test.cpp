// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver_devices.h"

#include <gtest/gtest.h>

#include "tests/runtime/cuda/simulated_device.h"

namespace orrery {
namespace {

TEST(DriverDevices, AreWhatTheDriverAnswers) {
    simulated::begin_device(1);
    const auto devices = driver_devices();
    ASSERT_TRUE(devices) << devices.error().to_string();
    ASSERT_FALSE(devices->empty());
    EXPECT_EQ(devices->front().ordinal, 0);
    EXPECT_FALSE(devices->front().name.empty());
    EXPECT_GT(devices->front().memory.count(), 0);
    EXPECT_NE(driver_versions().find("CUDA"), std::string::npos);
}

}  // namespace
}  // namespace orrery
