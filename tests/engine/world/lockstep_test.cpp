// SPDX-License-Identifier: Apache-2.0
// LockstepGroups part and join without a trace: runs with them (folded, untraced) against runs in
// which every rank has its own state, on random programs whose paths through the network are
// hashed.
#include <gtest/gtest.h>

#include "tests/engine/groups_change_nothing.h"

namespace orrery {
namespace {

TEST(LockstepGroups, ChangeNothing) {
    EXPECT_GT(expect_no_change(3001, 4500, false), 100);
    // One waits for what has ended on a stream that has to wait for its next launch.
    expect_no_change(9046, 9046, false);
}

}  // namespace
}  // namespace orrery
