// SPDX-License-Identifier: Apache-2.0
#include "engine/base/units.h"

#include <gtest/gtest.h>

#include "tests/reference/dice.h"

namespace orrery {
namespace {

using namespace literals;

// The ceiling of n * 8e12 / bps by long division on decimal digits: slow, and shares nothing with
// the 128-bit arithmetic that it judges. Also says whether it fits below Time::max().
struct SlowQuotient {
    bool fits = true;
    std::int64_t picoseconds = 0;
};
SlowQuotient slow_transfer_time(std::int64_t bytes, std::int64_t bits_per_second) {
    const std::string digits = std::to_string(bytes * 8) + "000000000000";
    unsigned __int128 quotient = 0;
    std::uint64_t remainder = 0;
    for (const char digit : digits) {
        // Ten times the remainder by adding, so that nothing overflows below 2^60 bit/s.
        const std::uint64_t next = remainder * 10 + static_cast<std::uint64_t>(digit - '0');
        quotient = quotient * 10 + next / static_cast<std::uint64_t>(bits_per_second);
        remainder = next % static_cast<std::uint64_t>(bits_per_second);
    }
    quotient += remainder != 0 ? 1 : 0;
    const auto most = static_cast<unsigned __int128>(Time::max().picoseconds());
    return quotient < most ? SlowQuotient{true, static_cast<std::int64_t>(quotient)}
                           : SlowQuotient{.fits = false};
}

TEST(Units, TransferTimeIsExact) {
    EXPECT_EQ((25_MiB / 400_Gbps + 2_us).picoseconds(), 526'288'000);
    EXPECT_EQ((1_B / 400_Gbps).picoseconds(), 20);
    EXPECT_EQ((1_B / 800_Gbps).picoseconds(), 10);
    EXPECT_EQ((1_B / 1600_Gbps).picoseconds(), 5);
}

TEST(Units, TransferTimeRoundsUpNeverFasterThanTheLine) {
    const Bandwidth three_bits = Bandwidth::bits_per_second(3);
    EXPECT_EQ((1_B / three_bits).picoseconds(), 2'666'666'666'667);
    EXPECT_EQ((3_B / three_bits).picoseconds(), 8'000'000'000'000);
}

TEST(Units, TransferTimeAgreesWithLongDivision) {
    reference::Dice dice{20260101};
    for (int i = 0; i < 20'000; ++i) {
        const std::int64_t bytes =
            dice.between(std::int64_t{1}, std::int64_t{1} << dice.between(1, 58));
        const std::int64_t rate =
            dice.between(std::int64_t{1}, std::int64_t{1} << dice.between(1, 58));
        const SlowQuotient slow = slow_transfer_time(bytes, rate);
        const Time expected = slow.fits ? Time::picoseconds(slow.picoseconds) : Time::max();
        ASSERT_EQ((Bytes{bytes} / Bandwidth::bits_per_second(rate)).picoseconds(),
                  expected.picoseconds())
            << bytes << " B at " << rate << " bit/s, seed 20260101";
    }
}

TEST(Units, NothingCrossesADeadLink) {
    EXPECT_EQ(1_B / Bandwidth{}, Time::max());
    EXPECT_EQ(Bytes{} / Bandwidth{}, Time{});
    EXPECT_EQ(Bytes{} / 400_Gbps, Time{});
}

TEST(Units, WhatTakesLongerThanATimeHoldsTakesForever) {
    const Bytes most{std::numeric_limits<std::int64_t>::max()};
    EXPECT_EQ(most / Bandwidth::bits_per_second(1), Time::max());
    // 2^63 - 1 picoseconds at 8 Tb/s are 2^63 - 1 bytes: the longest time that is not forever is
    // one picosecond below.
    EXPECT_EQ(most / Bandwidth::bytes_per_second(1'000'000'000'000), Time::max());
    EXPECT_EQ((most - 1_B) / Bandwidth::bytes_per_second(1'000'000'000'000), Time::max() - 1_ps);
}

TEST(Units, SecondsRoundToTheNearestPicosecondAndClamp) {
    EXPECT_EQ(Time::seconds(1.4e-12).picoseconds(), 1);
    EXPECT_EQ(Time::seconds(1.6e-12).picoseconds(), 2);
    EXPECT_EQ(Time::seconds(-1.6e-12).picoseconds(), -2);
    EXPECT_EQ(Time::seconds(6.34).picoseconds(), 6'340'000'000'000);
    EXPECT_EQ(Time::seconds(1e30), Time::max());
    EXPECT_EQ(Time::seconds(-1e30), Time{} - Time::max());
    EXPECT_EQ(Flop{1.0} / FlopRate{}, Time::max());
}

TEST(Units, WorkOverRateIsTime) {
    EXPECT_EQ(Flop{989e12} / 989_TFLOPS, 1'000'000_us);
    EXPECT_EQ(Flop{312e6} / 312_TFLOPS, 1_us);
}

TEST(Units, DecimalAndBinaryPrefixesDiffer) {
    EXPECT_EQ(1_GB, 1'000'000'000_B);
    EXPECT_EQ(1_GiB, 1'073'741'824_B);
    EXPECT_EQ(1_MiB, 1024_KiB);
    EXPECT_EQ(25_GBps, 200_Gbps);
    EXPECT_EQ(1_ms, 1'000'000'000_ps);
    EXPECT_EQ(1_us, 1'000_ns);
}

TEST(Units, DividingLikeByLikeGivesANumber) {
    EXPECT_EQ(10_KiB / 3_KiB, 3);
    EXPECT_DOUBLE_EQ(3_us / 2_us, 1.5);
    EXPECT_DOUBLE_EQ((50_GBps).gigabytes_per_second(), 50.0);
    EXPECT_DOUBLE_EQ((2_us).microseconds(), 2.0);
}

}  // namespace
}  // namespace orrery
