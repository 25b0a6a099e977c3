// SPDX-License-Identifier: Apache-2.0
#include "models/plan/divisors.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Divisors, AreWhatTrialDivisionFinds) {
    for (std::int64_t n = 1; n <= 500; ++n) {
        std::vector<std::int64_t> expected;
        for (std::int64_t d = 1; d <= n; ++d) {
            if (n % d == 0) {
                expected.push_back(d);
            }
        }
        EXPECT_EQ(divisors(n), expected) << n;
    }
}

}  // namespace
}  // namespace orrery
