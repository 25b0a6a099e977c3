// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/member_messages.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(MemberMessages, OrdersArriveAsTheyWereGiven) {
    const Order go{.kind = OrderKind::go,
                   .generation = 7,
                   .rank = 3,
                   .num_ranks = 8,
                   .store = "a store/b",
                   .checkpoint = "/c/step-000010",
                   .struck = {0, 4},
                   .lasting = {4}};
    EXPECT_EQ(parse_order(to_line(go)), go);
    const Order check{.kind = OrderKind::check, .generation = 8, .num_ranks = 2, .store = "s"};
    EXPECT_EQ(parse_order(to_line(check)), check);
    const Order quit{.kind = OrderKind::quit};
    EXPECT_EQ(parse_order(to_line(quit)), quit);
}

TEST(MemberMessages, ReportsArriveOnOneLine) {
    for (int kind = 0; kind < 11; ++kind) {
        const MemberReport report{.kind = static_cast<ReportKind>(kind),
                                  .generation = 2,
                                  .step = 12,
                                  .number = -2,
                                  .text = "rank 1 is gone"};
        EXPECT_EQ(parse_report(to_line(report)), report);
    }
    const MemberReport lines{.text = "two\nlines\tand tabs"};
    EXPECT_EQ(parse_report(to_line(lines))->text, "two lines and tabs");
    EXPECT_LT(to_line(MemberReport{.text = std::string(100'000, 'x')}).size(), 4096u);
}

TEST(MemberMessages, NonsenseIsNothing) {
    for (const char* line : {"",
                             "go",
                             "go\t1\t2\t3\t\t\tx\t",
                             "go\t1\t2\t3\t\t\t\tx",
                             "go\t1\t2\t3\t\t\t",
                             "fly\t1\t2\t3\t\t\t\t",
                             "go\t-1\t2\t3\t\t\t\t"}) {
        EXPECT_FALSE(parse_order(line)) << line;
    }
    for (const char* line : {"", "beat", "beat\tx\t0\t0\t", "beat\t1\t2\t3", "hum\t1\t2\t3\t"}) {
        EXPECT_FALSE(parse_report(line)) << line;
    }
}

TEST(MemberMessages, NameEveryRankThatIsWaitedFor) {
    EXPECT_EQ(rank_ranges({}), "-");
    EXPECT_EQ(rank_ranges({7}), "7");
    EXPECT_EQ(rank_ranges({7, 3, 1, 2, 70, 3}), "1-3,7,70");
    std::vector<std::uint32_t> odd;
    for (std::uint32_t rank = 1; rank < 4000; rank += 2) {
        odd.push_back(rank);
    }
    const std::string many = rank_ranges(odd);
    EXPECT_LT(many.size(), 450u);
    EXPECT_TRUE(many.ends_with(",..."));
}

}  // namespace
}  // namespace orrery
