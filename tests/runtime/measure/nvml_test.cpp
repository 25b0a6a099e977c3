// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/nvml.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Nvml, AMachineWithoutTheLibraryHasNoGpus) {
    const auto gpus = nvml_gpus("libno-such-library.so.1");
    ASSERT_TRUE(gpus) << gpus.error().to_string();
    EXPECT_TRUE(gpus->empty());
}

TEST(Nvml, TellsOfEveryGpuWhatTheLibraryKnows) {
    const auto gpus = nvml_gpus(ORRERY_FAKE_NVML);
    ASSERT_TRUE(gpus) << gpus.error().to_string();
    ASSERT_EQ(gpus->size(), 2U);
    const NvmlGpu& gpu = gpus->front();
    EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(gpu.memory_bytes, 80ULL << 30U);
    EXPECT_EQ(gpu.compute_capability, 90U);
    EXPECT_EQ(gpu.nvlinks, 17U);
    EXPECT_EQ(gpu.pcie_generation, 5U);
    EXPECT_EQ(gpu.pcie_width, 0U);  // a function that the library lacks
}

TEST(Nvml, AnotherLibraryIsAnError) {
    const auto gpus = nvml_gpus("libm.so.6");
    ASSERT_FALSE(gpus);
    EXPECT_EQ(gpus.error().where, "libm.so.6");
}

}  // namespace
}  // namespace orrery
