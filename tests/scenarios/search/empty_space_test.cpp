// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/empty_space.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(EmptySpace, IsBlamedOnTheRuleThatRefusesMost) {
    const Error error = why_space_is_empty(10, {{"bound", 3}, {"memory", 7}});
    EXPECT_EQ(error.what, "no plan of 10 is feasible: memory refuses most of them");
    EXPECT_EQ(error.hint, "points by the rule that refuses them: bound 3, memory 7");
    EXPECT_EQ(why_space_is_empty(0, {}).what, "the space has no point");
}

}  // namespace
}  // namespace orrery
