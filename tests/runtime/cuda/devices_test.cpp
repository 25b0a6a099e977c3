// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/devices.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// On any machine: a list of devices that make sense, or one sentence why there is none.
TEST(CudaDevices, AnswerOrSayWhyNot) {
    const auto devices = cuda_devices();
    if (!devices) {
        EXPECT_TRUE(devices.error().what.starts_with("no GPU answers: ") ||
                    devices.error().what.starts_with("built without CUDA"))
            << devices.error().what;
        EXPECT_FALSE(devices.error().hint.empty());
        return;
    }
    ASSERT_FALSE(devices->empty());
    for (const CudaDeviceInfo& device : *devices) {
        EXPECT_FALSE(device.name.empty());
        EXPECT_GT(device.memory.count(), 0);
        EXPECT_GT(device.multiprocessors, 0);
        EXPECT_GE(device.compute_capability, 30);
    }
}

TEST(CudaDevices, VersionsNeedNoDevice) {
    EXPECT_NE(cuda_versions().find("CUDA"), std::string::npos);
}

TEST(NcclEnvironment, MakesHostsOfRanksThatShareAGpu) {
    EXPECT_TRUE(nccl_environment(3, 8, 8).empty());
    const auto shared = nccl_environment(3, 4, 1);
    ASSERT_FALSE(shared.empty());
    EXPECT_EQ(shared[0], (std::pair<std::string, std::string>{"NCCL_HOSTID", "rank3"}));
    EXPECT_NE(shared[0], nccl_environment(2, 4, 1)[0]);
}

}  // namespace
}  // namespace orrery
