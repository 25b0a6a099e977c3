// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/request_lengths.h"

#include <gtest/gtest.h>

namespace orrery {
namespace request_lengths_test {

// A spread of 0.5 draws lengths from a half of the stated one to all of it.
TEST(RequestLengths, LieBetweenTheShareAndTheStatedLength) {
    WorkloadSpec workload;
    workload.num_requests = 200;
    workload.input_tokens = 1000;
    workload.output_tokens = 101;
    workload.length_spread = 0.5;
    for (const LengthDraws draws : {LengthDraws::each, LengthDraws::numpy}) {
        workload.length_draws = draws;
        RequestLengths lengths{workload, nullptr};
        std::int64_t shortest = 1000;
        std::int64_t longest = 0;
        for (int request = 0; request < 200; ++request) {
            const std::int64_t input = lengths.input();
            shortest = std::min(shortest, input);
            longest = std::max(longest, input);
            EXPECT_GE(lengths.output(), 50);  // clients truncate 50.5
        }
        EXPECT_GE(shortest, 500);
        EXPECT_LE(shortest, 520);
        EXPECT_GE(longest, 980);
        EXPECT_LE(longest, 1000);
    }
}

TEST(RequestLengths, AreAtLeastOneToken) {
    EXPECT_EQ(whole_tokens(0), 1);
    EXPECT_EQ(whole_tokens(1.5), 2);
}

}  // namespace request_lengths_test
}  // namespace orrery
