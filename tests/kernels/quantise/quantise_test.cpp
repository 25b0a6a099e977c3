// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantise/quantise.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

TEST(Quantise, APartHasItsScalesAndWholeWordsOfCodes) {
    const QuantisedVector bytes{.parts = 3, .elements = 101, .block = 40, .bits = 8};
    EXPECT_EQ(bytes.blocks(), 3);
    EXPECT_EQ(bytes.part_bytes(), 3 * 4 + 104);
    EXPECT_EQ(bytes.bytes(), 3 * bytes.part_bytes());
    const QuantisedVector nibbles{.parts = 1, .elements = 101, .block = 40, .bits = 4};
    EXPECT_EQ(nibbles.bytes(), 3 * 4 + 52);
}

// Ranks 2 x 3 x 2 with a first hop among the three: what one of them gets lies together, in the
// order in which the second hop numbers the other ranks.
TEST(Quantise, PartsOfTwoHopsLieByTheRankOfTheFirst) {
    const PartOrder order{.inside = 3, .below = 2};
    std::set<std::int64_t> places;
    for (std::int64_t part = 0; part < 12; ++part) {
        const std::int64_t place = order.place(part, 12);
        EXPECT_EQ(place / 4, part / 2 % 3);
        EXPECT_EQ(place % 4, part % 2 + part / 6 * 2);
        places.insert(place);
    }
    EXPECT_EQ(places.size(), 12u);
    EXPECT_EQ(PartOrder{}.place(7, 12), 7);
}

TEST(Quantise, BytesAreThoseOfBothSides) {
    const QuantisedVector v{.parts = 2, .elements = 64, .block = 32, .bits = 4};
    EXPECT_EQ(quantise(v, {}, Dtype::fp32).bytes, 2 * 64 * 4 + 2 * (8 + 32));
    EXPECT_EQ(requantise(v, 3).bytes, 4 * 2 * (8 + 32));
    EXPECT_EQ(dequantise(v, 3, Dtype::bf16).bytes, 3 * 2 * (8 + 32) + 2 * 64 * 2);
    EXPECT_EQ(quantised_vector(dequantise(v, 3, Dtype::bf16)), v);
}

}  // namespace
}  // namespace orrery
