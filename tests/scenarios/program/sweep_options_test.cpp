// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/program/sweep.h"

namespace orrery {
namespace {

TEST(SweepOptions, SetTheArgumentsThatTheyAreMadeOf) {
    SweepArguments arguments;
    const std::vector<CommandOption> options = sweep_options(arguments);
    const auto found = std::ranges::find(options, "--shard", &CommandOption::names);
    ASSERT_NE(found, options.end());
    *std::get<std::string*>(found->target) = "x";
    EXPECT_EQ(arguments.shard, "x");
    EXPECT_EQ(options.front().names, "file");
}

}  // namespace
}  // namespace orrery
