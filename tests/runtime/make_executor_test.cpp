// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_executor.h"

#include <gtest/gtest.h>

#include "runtime/cuda/devices.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

TEST(MakeExecutor, MakesOneOfTheCpu) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const auto executor = make_executor(DeviceChoice::cpu, program, RankId{0}, nullptr);
    ASSERT_TRUE(executor);
    EXPECT_EQ((*executor)->device_name(), "CPU");
    EXPECT_EQ((*executor)->world(), nullptr);
}

TEST(MakeExecutor, PassesOnWhyAProgramCannotRun) {
    ParallelPlan plan = tiny_plan();
    plan.data_parallel_size = 2;
    const Program program = lower(tiny_gpt(), plan);
    const auto executor = make_executor(DeviceChoice::cpu, program, RankId{0}, nullptr);
    ASSERT_FALSE(executor);
    EXPECT_NE(executor.error().what.find("transport"), std::string::npos);
}

TEST(MakeExecutor, WithoutAGpuSaysThatNoneAnswers) {
    if (cuda_devices()) {
        GTEST_SKIP() << "a GPU is there";
    }
    const Program program = lower(tiny_gpt(), tiny_plan());
    const auto executor = make_executor(DeviceChoice::cuda, program, RankId{0}, nullptr);
    ASSERT_FALSE(executor);
    EXPECT_EQ(executor.error().what, cuda_devices().error().what);
    EXPECT_FALSE(executor.error().hint.empty());
}

TEST(DecideDevice, IsCudaOnlyForClustersOfGpusWhereOneAnswers) {
    const bool answers = cuda_devices().has_value();
    EXPECT_EQ(decide_device(DeviceChoice::automatic, false).device, DeviceChoice::cpu);
    EXPECT_EQ(decide_device(DeviceChoice::automatic, false).why, "");
    const DecidedDevice of_gpus = decide_device(DeviceChoice::automatic, true);
    EXPECT_EQ(of_gpus.device == DeviceChoice::cuda, answers);
    EXPECT_EQ(of_gpus.why.empty(), answers) << of_gpus.why;
    EXPECT_EQ(decide_device(DeviceChoice::cuda, false).device, DeviceChoice::cuda);
    EXPECT_EQ(decide_device(DeviceChoice::cpu, true).device, DeviceChoice::cpu);
}

}  // namespace
}  // namespace orrery
