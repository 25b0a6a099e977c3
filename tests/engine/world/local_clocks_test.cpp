// SPDX-License-Identifier: Apache-2.0
// LockstepGroups that keep time on their own do so without a trace.
#include <gtest/gtest.h>

#include "tests/engine/groups_change_nothing.h"

namespace orrery {
namespace {

TEST(LockstepGroups, OnTheirOwnTimeChangeNothing) {
    EXPECT_GT(expect_no_change(4501, 6000, true), 100);
}

}  // namespace
}  // namespace orrery
