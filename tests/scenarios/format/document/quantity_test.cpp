// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/quantity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace orrery {
namespace {

using namespace literals;

TEST(Quantity, EveryUnitIsItsOwnFactor) {
    EXPECT_EQ(*parse_bandwidth("200 Gbps"), 200_Gbps);
    EXPECT_EQ(*parse_bandwidth("200Gbps"), 200_Gbps);
    EXPECT_EQ(*parse_bandwidth("25 GB/s"), 200_Gbps);
    EXPECT_EQ(*parse_bandwidth("25 GBps"), 200_Gbps);
    EXPECT_EQ(*parse_bandwidth("3.35 TB/s"), Bandwidth::bytes_per_second(3'350'000'000'000));
    EXPECT_EQ(*parse_bandwidth("1.6 Tbps"), 1600_Gbps);
    EXPECT_EQ(*parse_bandwidth("8 bps"), *parse_bandwidth("1 B/s"));
    EXPECT_EQ(*parse_bytes("80 GiB"), 80_GiB);
    EXPECT_EQ(*parse_bytes("80 GB"), 80_GB);
    EXPECT_EQ(*parse_bytes("0.5 MiB"), 512_KiB);
    EXPECT_EQ(*parse_time("2 us"), 2_us);
    EXPECT_EQ(*parse_time("2 µs"), 2_us);
    EXPECT_EQ(*parse_time("0.35 us"), 350_ns);
    EXPECT_EQ(*parse_time("1 s"), 1000_ms);
    EXPECT_EQ(parse_flop_rate("312 TFLOPS")->per_second(), 312e12);
    EXPECT_EQ(parse_flop_rate("2.25 PFLOPS")->per_second(), 2.25e15);
}

TEST(Quantity, DecimalFractionsAreExactAndRoundedOnce) {
    EXPECT_EQ(parse_bandwidth("0.1 Gbps")->bits_per_second(), 100'000'000);
    EXPECT_EQ(parse_time("0.0001 ns")->picoseconds(), 0);
    EXPECT_EQ(parse_time("0.0005 ns")->picoseconds(), 1);
    EXPECT_EQ(parse_bytes("0.1 KiB")->count(), 102);  // 102.4
}

TEST(Quantity, ABareNumberNamesTheUnits) {
    const auto result = parse_bandwidth("200");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().what, "'200' has no unit; a bandwidth is due");
    EXPECT_NE(result.error().hint.find("Gbps"), std::string::npos);
    EXPECT_NE(result.error().hint.find("GB/s"), std::string::npos);
}

TEST(Quantity, WhatIsNotAQuantityIsAnError) {
    for (const char* text : {"",
                             " ",
                             "Gbps",
                             "-1 Gbps",
                             "1e3 Gbps",
                             "1 gbps",
                             "1 G",
                             "25M",
                             ".",
                             "1..2 Gbps",
                             "0x10 Gbps",
                             "1 Gbps extra",
                             "nan Gbps",
                             "inf Gbps",
                             "99999999999999999999999 Gbps",
                             "9999999999 Tbps"}) {
        EXPECT_FALSE(parse_bandwidth(text)) << text;
    }
    const auto long_one = parse_bytes("99999999999999999999 GiB");
    EXPECT_EQ(long_one.error().what,
              "'99999999999999999999 GiB' has more digits than a size needs");
    EXPECT_FALSE(parse_bytes("80 Gbps"));
    EXPECT_FALSE(parse_time("80 GiB"));
    EXPECT_FALSE(parse_flop_rate("80 FLOP"));
}

TEST(Quantity, TextParsesBackToTheSameValue) {
    std::mt19937_64 random{20260101};
    for (int i = 0; i < 10'000; ++i) {
        // Values of every magnitude, round ones among them.
        std::uint64_t raw = random() >> (5 + random() % 58);
        raw -= random() % 2 == 0 ? raw % 1'000'000 : 0;
        const auto value = static_cast<std::int64_t>(raw);
        EXPECT_EQ(parse_bandwidth(to_text(Bandwidth::bits_per_second(value))),
                  Bandwidth::bits_per_second(value));
        EXPECT_EQ(parse_bytes(to_text(Bytes{value})), Bytes{value});
        EXPECT_EQ(parse_time(to_text(Time::picoseconds(value))), Time::picoseconds(value));
    }
}

TEST(Quantity, ShortTextHasThreeDigits) {
    EXPECT_EQ(to_short_text(80_GiB), "80.0 GiB");
    EXPECT_EQ(to_short_text(Bytes{1}), "1 B");
    EXPECT_EQ(to_short_text(1536_KiB), "1.50 MiB");
    EXPECT_EQ(to_short_text(Time::seconds(6.34)), "6.34 s");
    EXPECT_EQ(to_short_text(Time::seconds(0.01234)), "12.3 ms");
    EXPECT_EQ(to_short_text(350_ns), "0.35 us");
    EXPECT_EQ(to_short_text(Time{}), "0 s");
}

}  // namespace
}  // namespace orrery
