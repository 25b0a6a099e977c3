// SPDX-License-Identifier: Apache-2.0
// The module's functions, on a simulated device.
#include <gtest/gtest.h>

#include <cstdlib>

#include "models/lowering/lowering.h"
#include "runtime/cuda/cuda_features.h"
#include "runtime/cuda/cuda_module.h"
#include "runtime/make_decode_step.h"
#include "tests/runtime/cuda/simulated_device.h"
#include "tests/runtime/cuda/simulated_training.h"

namespace orrery {
namespace {

TEST(ModuleEntry, FillsWhatItIsGiven) {
    simulated::begin_device(1);
    const Result<CudaModule>& module = cuda_module();
    ASSERT_TRUE(module);
    Result<std::vector<CudaDeviceInfo>> devices;
    module->devices(devices);
    ASSERT_TRUE(devices);
    EXPECT_EQ(devices->size(), cuda_devices()->size());
    std::string versions;
    module->versions(versions);
    EXPECT_EQ(versions, cuda_versions());
    const Program program = lower(tiny_gpt(), tiny_plan());
    Result<std::unique_ptr<Executor>> executor;
    module->make_executor(program, RankId{0}, nullptr, executor);
    ASSERT_TRUE(executor) << executor.error().to_string();
    EXPECT_NE(*executor, nullptr);
}

TEST(ModuleEntry, MakesTheDecoderOfAnInstance) {
    simulated::begin_device(1);
    const ServedModel served = *load_served_model(tiny_llama(), {}, 3);
    const auto step = make_decode_step(DeviceChoice::cuda,
                                       served,
                                       {.num_blocks = 8, .block_size = 4},
                                       {.tokens = 8, .sequences = 4});
    ASSERT_TRUE(step) << step.error().to_string();
    EXPECT_EQ((*step)->device_name(), cuda_devices()->front().name);
    std::vector<float> logits;
    ASSERT_TRUE((*step)->run(
        std::vector<DecodeChunk>{{.tokens = {1, 2}, .blocks = {3}, .samples = true}}, logits));
    EXPECT_EQ(logits.size(), 32u);
}

TEST(ModuleEntry, RefusesAnUnknownWordOfWhatToLeaveOut) {
    simulated::begin_device(1);
    const Program program = lower(tiny_gpt(), tiny_plan());
    setenv(kCudaWithout, "graphics", 1);
    Result<std::unique_ptr<Executor>> executor;
    cuda_module()->make_executor(program, RankId{0}, nullptr, executor);
    unsetenv(kCudaWithout);
    ASSERT_FALSE(executor);
    EXPECT_NE(executor.error().to_string().find("graphs"), std::string::npos);
}

}  // namespace
}  // namespace orrery
