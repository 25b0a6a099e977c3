// SPDX-License-Identifier: Apache-2.0
// What it prints is tested with the comparison:
// tests/scenarios/studies/measure/run_comparison_test.cpp.
#include "scenarios/program/compare.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(CompareCommand, DescribesItself) {
    const Command command = describe_compare();
    EXPECT_EQ(command.name, "compare");
    EXPECT_FALSE(command.examples.empty());
    EXPECT_TRUE(command.options.front().required);
}

}  // namespace
}  // namespace orrery
