// SPDX-License-Identifier: Apache-2.0
// Tokens of steps as clients get them (engine/serving/serving_tokens.cpp).
#include <gtest/gtest.h>

#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace serving_tokens_test {

using namespace literals;

ServingResult answered(Time response, std::int64_t interval, std::int64_t output_tokens) {
    LinearCost cost(10_ms, Time{});
    const std::vector<Request> requests(
        4, Request{.prompt_tokens = 1, .output_tokens = output_tokens});
    ServingResult result = serve(requests,
                                 {.users = 2, .response = response, .stream_interval = interval},
                                 pool_of(cost),
                                 *make_request_router("round_robin", 1));
    __int128 sojourns = 0;
    for (const RequestRecord& record : result.records) {
        sojourns += record.end_to_end().picoseconds();
    }
    EXPECT_TRUE(sojourns == result.request_picoseconds);
    return result;
}

// Two users begin together. The second gets its tokens behind the first, and sends its next request
// that much later, when the instance has begun the other one's.
TEST(ServingTokens, UsersSendTheNextRequestWhenTheyHaveTheirAnswer) {
    const ServingResult result = answered(3_ms, 1, 2);
    EXPECT_EQ(result.records[0].first_token, 13_ms);
    EXPECT_EQ(result.records[1].first_token, 16_ms);
    EXPECT_EQ(result.records[0].last_token, 23_ms);
    EXPECT_EQ(result.records[1].last_token, 26_ms);
    EXPECT_EQ(result.records[2].arrival, 23_ms);
    EXPECT_EQ(result.records[2].first_token, 36_ms);
    EXPECT_EQ(result.records[3].arrival, 26_ms);
    EXPECT_EQ(result.records[3].first_token, 49_ms);
    EXPECT_EQ(result.records[3].last_token, 56_ms);
    EXPECT_EQ(result.end, 56_ms);
    EXPECT_EQ(answered(Time{}, 1, 2).end, 40_ms);
}

// Steps of 10 ms yield two tokens, whose responses take 20 ms: the last of 2 x 10 tokens comes
// 200 ms after the first step. With four tokens in a response they keep pace.
TEST(ServingTokens, AThreadThatIsTooSlowDelaysTokensMoreAndMore) {
    const ServingResult slow = answered(10_ms, 1, 10);
    EXPECT_EQ(slow.records[0].first_token, 20_ms);
    EXPECT_EQ(slow.records[1].last_token, 210_ms);
    EXPECT_EQ(slow.records[0].longest_gap, 20_ms);
    const ServingResult together = answered(10_ms, 4, 10);
    EXPECT_EQ(together.records[1].first_token, 30_ms);
    EXPECT_EQ(together.records[0].last_token, 110_ms);
    EXPECT_EQ(together.records[1].last_token, 120_ms);
}

}  // namespace serving_tokens_test
}  // namespace orrery
