// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_executor.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace orrery
