// SPDX-License-Identifier: Apache-2.0
// Bundles come apart without a trace: other random programs than those of lockstep_test,
// many of which send from group to group (bundles_test).
#include <gtest/gtest.h>

#include "tests/engine/groups_change_nothing.h"

namespace orrery {
namespace {

TEST(Bundles, ChangeNothing) {
    EXPECT_GT(expect_no_change(12'001, 12'500, false), 20);
    EXPECT_GT(expect_no_change(12'501, 13'000, true), 20);
}

}  // namespace
}  // namespace orrery
