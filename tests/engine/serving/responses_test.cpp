// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/responses.h"

#include <gtest/gtest.h>

#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

TEST(Responses, OneThreadOfAnInstanceSendsThemInTurn) {
    Responses responses{3_ms, 1};
    EXPECT_EQ(responses.through(0, 10_ms, 0, 1, false), 13_ms);
    EXPECT_EQ(responses.through(0, 10_ms, 5, 1, false), 16_ms);
    EXPECT_EQ(responses.through(1, 10_ms, 5, 1, false), 13_ms);
    EXPECT_EQ(responses.through(0, 12_ms, 5, 1, true), 19_ms);
    EXPECT_EQ(responses.through(0, 30_ms, 6, 1, false), 33_ms);
    Responses at_once{Time{}, 1};
    EXPECT_EQ(at_once.through(0, 10_ms, 0, 1, false), 10_ms);
}

// The first token is sent alone, the others together, and the last ones without waiting for more.
TEST(Responses, TokensShareAResponse) {
    Responses responses{3_ms, 4};
    EXPECT_EQ(responses.through(0, 10_ms, 0, 1, false), 13_ms);
    EXPECT_FALSE(responses.through(0, 20_ms, 1, 1, false));
    EXPECT_FALSE(responses.through(0, 30_ms, 2, 1, false));
    EXPECT_EQ(responses.through(0, 40_ms, 3, 1, false), 43_ms);
    EXPECT_FALSE(responses.through(0, 50_ms, 4, 1, false));
    EXPECT_EQ(responses.through(0, 60_ms, 5, 1, true), 63_ms);
    EXPECT_EQ(responses.through(0, 70_ms, 6, 3, false), 73_ms);  // proposals over a boundary
}

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
TEST(Responses, UsersSendTheNextRequestWhenTheyHaveTheirAnswer) {
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
TEST(Responses, AThreadThatIsTooSlowDelaysTokensMoreAndMore) {
    const ServingResult slow = answered(10_ms, 1, 10);
    EXPECT_EQ(slow.records[0].first_token, 20_ms);
    EXPECT_EQ(slow.records[1].last_token, 210_ms);
    EXPECT_EQ(slow.records[0].longest_gap, 20_ms);
    const ServingResult together = answered(10_ms, 4, 10);
    EXPECT_EQ(together.records[1].first_token, 30_ms);
    EXPECT_EQ(together.records[0].last_token, 110_ms);
    EXPECT_EQ(together.records[1].last_token, 120_ms);
}

}  // namespace
}  // namespace orrery
