// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/left_out.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(LeftOut, RowsAreWhatIsNotZeroAndAddUpToTheTotal) {
    const LeftOut out{.rules = {{"pipeline", 4}}, .memory = 2, .slower = 3, .ran_out = 1};
    const std::vector<std::pair<std::string, std::int64_t>> rows{{"pipeline", 4},
                                                                 {"memory", 2},
                                                                 {"slower without contention", 3},
                                                                 {"simulations ran out", 1}};
    EXPECT_EQ(out.rows(), rows);
    EXPECT_EQ(out.total(), 10);
    EXPECT_EQ(out.unsimulated(), 1);
}

TEST(LeftOut, PartsOfASpaceAddUp) {
    LeftOut sum{.rules = {{"pipeline", 4}}, .memory = 2, .least_memory = 1.5, .least_days = 7};
    sum += {.rules = {{"pipeline", 1}, {"batch", 2}},
            .same_plan = 1,
            .memory = 2,
            .deadline = 3,
            .budget = 4,
            .bound = 5,
            .slower = 6,
            .not_on_network = 7,
            .ran_out = 8,
            .least_memory = 1.2,
            .least_money = 9};
    EXPECT_EQ(sum.rules, (std::map<std::string, std::int64_t>{{"pipeline", 5}, {"batch", 2}}));
    EXPECT_EQ(sum.total(), 7 + 1 + 4 + 3 + 4 + 5 + 6 + 7 + 8);
    EXPECT_EQ(sum.least_memory, 1.2);
    EXPECT_EQ(sum.least_days, 7);
    EXPECT_EQ(sum.least_money, 9);
}

}  // namespace
}  // namespace orrery
