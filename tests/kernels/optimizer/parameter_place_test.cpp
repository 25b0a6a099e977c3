// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/parameter_place.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ParameterPlace, OfWholeRowsCountsOn) {
    const ParameterPlace place{.first_element = 17};
    EXPECT_EQ(place.of(0), 17);
    EXPECT_EQ(place.of(1'000'000'000'000), 1'000'000'000'017);
    EXPECT_GT(place.run(5), std::int64_t{1} << 40);
}

// Columns 2 and 3, and 7 of 10, from row 4 on: runs of two and of one.
TEST(ParameterPlace, OfColumnsSkipsTheOthers) {
    const ParameterPlace place{.first_element = 1,
                               .width = 3,
                               .row_length = 10,
                               .first_row = 4,
                               .begin = {0, 2, 3, 3},
                               .first = {2, 7, 0}};
    const std::int64_t expected[] = {43, 47, 52, 53, 57, 62};
    const std::int64_t runs[] = {1, 1, 2, 1, 1, 2};
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(place.of(i), expected[i]);
        EXPECT_EQ(place.run(i), runs[i]);
    }
}

}  // namespace
}  // namespace orrery
