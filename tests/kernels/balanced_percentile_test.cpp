// SPDX-License-Identifier: Apache-2.0
#include "kernels/balanced_percentile.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(BalancedPercentile, LetsEveryGroupWeighTheSame) {
    EXPECT_EQ(balanced_percentile({}, 0.9), 0);
    EXPECT_EQ(balanced_percentile({{"empty", {}}}, 0.9), 0);
    EXPECT_EQ(balanced_percentile({{"a", {3, 1, 2}}}, 0.9), 3);
    EXPECT_EQ(balanced_percentile({{"a", {3, 1, 2}}, {"empty", {}}}, 0.5), 2);
    // A thousand values of one group are half of the weight.
    const std::vector<double> many(1000, 1.0);
    EXPECT_EQ(balanced_percentile({{"a", many}, {"b", {2}}}, 0.4), 1);
    EXPECT_EQ(balanced_percentile({{"a", many}, {"b", {2}}}, 0.6), 2);
}

}  // namespace
}  // namespace orrery
