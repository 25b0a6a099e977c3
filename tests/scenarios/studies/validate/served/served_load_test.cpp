// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/served_load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

// Half of an exponential law lies below its mean times ln 2, and the means are the row's.
TEST(ServedLoad, LengthsOfShareGptAreExponentialAroundTheRowsMeans) {
    ServingCase row;
    row.input_tokens = 200;
    row.output_tokens = 300;
    const LengthTable lengths = share_gpt_lengths(row);
    ASSERT_EQ(lengths.shares.size(), lengths.input_tokens.size());
    ASSERT_EQ(lengths.shares.size(), lengths.output_tokens.size());
    EXPECT_TRUE(std::ranges::is_sorted(lengths.input_tokens));
    EXPECT_DOUBLE_EQ(lengths.shares.front(), 0);
    EXPECT_DOUBLE_EQ(lengths.shares.back(), 1);
    const auto half = std::ranges::find(lengths.shares, 0.5) - lengths.shares.begin();
    EXPECT_NEAR(lengths.input_tokens[static_cast<std::size_t>(half)], 200 * std::log(2), 1e-9);
    double mean = 0;  // of lengths that are interpolated between the shares
    for (std::size_t i = 1; i < lengths.shares.size(); ++i) {
        mean += (lengths.output_tokens[i - 1] + lengths.output_tokens[i]) / 2 *
                (lengths.shares[i] - lengths.shares[i - 1]);
    }
    EXPECT_NEAR(mean, 300, 6);
}

}  // namespace
}  // namespace orrery
