// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/keys.h"

namespace orrery {
namespace {

TEST(NamedKeys, AListNeedsNoBrackets) {
    const Keys all = scenario_keys();
    const Keys found = keys_named(all, "faults.mtbf");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found.front().key, "faults[].mtbf");
    EXPECT_EQ(keys_named(all, "faults[].mtbf").size(), 1u);
    EXPECT_EQ(keys_named(all, "mbs").front().key, "plan.micro_batch_size");
    EXPECT_TRUE(keys_named(all, "faults.mtfb").empty());
    const Keys plan = keys_named(all, "plan");
    ASSERT_EQ(plan.size(), 1u);
    EXPECT_GT(keys_below(all, plan.front()).size(), 20u);
}

}  // namespace
}  // namespace orrery
