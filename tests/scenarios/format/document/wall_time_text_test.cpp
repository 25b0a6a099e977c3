// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/wall_time_text.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(WallTimeText, IsReadWithItsUnits) {
    for (const auto& [text, seconds] : {std::pair{"54 d", 54 * 86400.0},
                                        std::pair{"3d4h", 76 * 3600.0},
                                        std::pair{"3 d 4 h", 76 * 3600.0},
                                        std::pair{"10min", 600.0},
                                        std::pair{"0.59 s", 0.59},
                                        std::pair{"590ms", 0.59},
                                        std::pair{"7 us", 7e-6},
                                        std::pair{"1h30min", 5400.0},
                                        std::pair{"2 y", 730 * 86400.0},
                                        std::pair{"1y2w", 379 * 86400.0},
                                        std::pair{"1.5 w", 10.5 * 86400},
                                        std::pair{"0 s", 0.0}}) {
        const Result<WallTime> time = parse_wall_time(text);
        ASSERT_TRUE(time) << text;
        EXPECT_EQ(*time, WallTime::seconds(seconds)) << text;
    }
}

TEST(WallTimeText, NonsenseIsAnErrorWithAHint) {
    for (const char* text : {"",
                             " ",
                             "5",
                             "d",
                             "-3 s",
                             "3 weeks",
                             "4h3d",
                             "3d 4",
                             "1e3 s",
                             "nan s",
                             "inf s",
                             "3ss",
                             "99999999999999999999 d"}) {
        const Result<WallTime> time = parse_wall_time(text);
        ASSERT_FALSE(time) << text;
        EXPECT_NE(time.error().hint.find("units"), std::string::npos);
    }
}

TEST(WallTimeText, IsWrittenForPeople) {
    EXPECT_EQ(to_short_text(WallTime::days(54)), "54.0 d");
    EXPECT_EQ(to_short_text(WallTime::hours(3.093)), "3.09 h");
    EXPECT_EQ(to_short_text(WallTime::seconds(590)), "9.83 min");
    EXPECT_EQ(to_short_text(WallTime::seconds(0.59)), "590 ms");
    EXPECT_EQ(to_short_text(WallTime{}), "0 s");
    EXPECT_EQ(to_short_text(WallTime::days(730)), "730 d");
    EXPECT_EQ(to_clock_text(WallTime::seconds(86400 * 12 + 3 * 3600 + 4 * 60 + 5)), "12d 03:04:05");
}

}  // namespace
}  // namespace orrery
