// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/left_out.h"

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

}  // namespace
}  // namespace orrery
