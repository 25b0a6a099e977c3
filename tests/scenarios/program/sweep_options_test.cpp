// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/sweep_options.h"

#include <gtest/gtest.h>

#include <algorithm>

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
