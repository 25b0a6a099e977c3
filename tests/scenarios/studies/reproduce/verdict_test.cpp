// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/reproduce/verdict.h"

#include <gtest/gtest.h>

#include <limits>

namespace orrery {
namespace {

TEST(Verdict, AnAbsoluteFigureIsWithinAFifth) {
    const ReproducedComparison absolute{.kind = ReproductionClass::absolute};
    EXPECT_EQ(rule_of(absolute), "within 20 %");
    EXPECT_TRUE(passes(absolute, 10, 12));
    EXPECT_TRUE(passes(absolute, 10, 8));
    EXPECT_FALSE(passes(absolute, 10, 12.01));
    EXPECT_FALSE(passes(absolute, 10, 7.99));
    EXPECT_TRUE(passes(absolute, -10, -11));
    EXPECT_FALSE(passes(absolute, 10, -10));
}

TEST(Verdict, ARatioIsWithinFifteenPercent) {
    const ReproducedComparison ratio{.kind = ReproductionClass::ratio, .baseline = "a"};
    EXPECT_EQ(rule_of(ratio), "ratio within 15 %");
    EXPECT_TRUE(passes(ratio, 1.25, 1.4375));
    EXPECT_FALSE(passes(ratio, 1.25, 1.44));
    EXPECT_FALSE(passes(ratio, 1.25, 1.06));
}

TEST(Verdict, ADirectionIsInItsRangeAndOnTheSameSide) {
    ReproducedComparison direction{
        .kind = ReproductionClass::direction, .baseline = "a", .least = 0.9, .most = 1.5};
    EXPECT_EQ(rule_of(direction), "direction, 0.9 to 1.5");
    EXPECT_TRUE(passes(direction, 1.43, 1.2));
    EXPECT_FALSE(passes(direction, 1.43, 0.95));
    EXPECT_FALSE(passes(direction, 1.43, 1.51));
    direction.baseline.clear();
    EXPECT_TRUE(passes(direction, 1.43, 0.95));
    direction.most.reset();
    EXPECT_EQ(rule_of(direction), "direction, 0.9 or more");
    EXPECT_TRUE(passes(direction, 1.43, 100));
    direction.least.reset();
    direction.most = 30;
    EXPECT_EQ(rule_of(direction), "direction, 30 or less");
    EXPECT_FALSE(passes(direction, 30, 31));
}

TEST(Verdict, WhatIsNoNumberNeverPasses) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    for (const ReproductionClass kind :
         {ReproductionClass::absolute, ReproductionClass::ratio, ReproductionClass::direction}) {
        EXPECT_FALSE(passes({.kind = kind}, 1, kNone));
        EXPECT_FALSE(passes({.kind = kind}, kNone, 1));
        EXPECT_FALSE(passes({.kind = kind}, 1, std::numeric_limits<double>::infinity()));
    }
}

}  // namespace
}  // namespace orrery
