// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/program/network.h"

namespace orrery {
namespace {

TEST(NetworkOptions, SetTheArgumentsThatTheyAreMadeOf) {
    NetworkArguments arguments;
    const std::vector<CommandOption> options = network_options(arguments);
    const auto found = std::ranges::find(options, "--pattern", &CommandOption::names);
    ASSERT_NE(found, options.end());
    *std::get<std::string*>(found->target) = "x";
    EXPECT_EQ(arguments.pattern, "x");
    EXPECT_EQ(options.front().names, "file");
}

}  // namespace
}  // namespace orrery
