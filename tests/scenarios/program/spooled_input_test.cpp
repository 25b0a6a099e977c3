// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/spooled_input.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// Standard input itself is read by the whole program (tests/program/command_line_test.cpp).
TEST(SpooledInput, AFileWithANameStaysWhereItIs) {
    const auto input = SpooledInput::of("/some/cases.csv");
    ASSERT_TRUE(input);
    EXPECT_EQ(input->file(), "/some/cases.csv");
    EXPECT_EQ(input->renamed({{"/some/cases.csv:3", "x", ""}}).front().where, "/some/cases.csv:3");
}

}  // namespace
}  // namespace orrery
