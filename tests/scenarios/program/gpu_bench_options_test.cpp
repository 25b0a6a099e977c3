// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/program/gpu_bench.h"

namespace orrery {
namespace {

TEST(GpuBenchOptions, TheStageToBeginWithHasAnOldSpelling) {
    GpuBenchArguments arguments;
    const std::vector<CommandOption> options = gpu_bench_options(arguments);
    const auto old = std::ranges::find(options, "--from", &CommandOption::names);
    ASSERT_NE(old, options.end());
    EXPECT_EQ(old->now, "--from-stage");
    *std::get<std::string*>(old->target) = "profile";
    EXPECT_EQ(arguments.spec.from, "profile");
}

}  // namespace
}  // namespace orrery
