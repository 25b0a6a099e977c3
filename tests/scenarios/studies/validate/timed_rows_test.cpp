// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/timed_rows.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(TimedRows, FamiliesWeighTheSame) {
    TimedValidation v;
    for (const double predicted : {110.0, 110.0, 90.0, 110.0}) {
        v.rows.push_back(
            {.name = "a", .family = "many", .measured_us = 100, .predicted_us = predicted});
    }
    v.rows.push_back({.name = "b", .family = "one", .measured_us = 100, .predicted_us = 150});
    v.rows.push_back({.name = "c", .family = "two", .measured_us = 100, .predicted_us = 130});
    summarise(v);
    ASSERT_EQ(v.families.size(), 3u);
    EXPECT_EQ(v.families[0].name, "many");
    EXPECT_EQ(v.families[0].rows, 4u);
    EXPECT_NEAR(v.families[0].median, 0.1, 1e-12);
    EXPECT_NEAR(v.families[1].max, 0.5, 1e-12);
    // A third of the weight lies at 0.1, a third at 0.3, a third at 0.5.
    EXPECT_NEAR(v.balanced_median, 0.3, 1e-12);
    summarise(v);
    EXPECT_EQ(v.families.size(), 3u);
}

TEST(TimedRows, NothingIsNothing) {
    TimedValidation v;
    summarise(v);
    EXPECT_TRUE(v.families.empty());
    EXPECT_EQ(v.balanced_median, 0);
}

}  // namespace
}  // namespace orrery
