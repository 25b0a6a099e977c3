// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/front_end.h"

#include <gtest/gtest.h>

#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

TEST(FrontEnd, RequestsWaitForThoseBeforeThem) {
    FrontEnd one{2_ms, {}, 1, 100};
    EXPECT_EQ(one.through(10_ms, 0), 12_ms);
    EXPECT_EQ(one.through(10_ms, 0), 14_ms);
    EXPECT_EQ(one.through(13_ms, 0), 16_ms);
    EXPECT_EQ(one.through(30_ms, 0), 32_ms);
    FrontEnd two{2_ms, {}, 2, 100};
    EXPECT_EQ(two.through(10_ms, 0), 12_ms);
    EXPECT_EQ(two.through(10_ms, 0), 12_ms);
    EXPECT_EQ(two.through(10_ms, 0), 14_ms);
    FrontEnd any{2_ms, {}, 0, 100};
    for (int i = 0; i < 9; ++i) {
        EXPECT_EQ(any.through(10_ms, 0), 12_ms);
    }
    FrontEnd more_than_requests{2_ms, {}, std::int64_t{1} << 60, 1};
    EXPECT_EQ(more_than_requests.through(10_ms, 0), 12_ms);
}

TEST(FrontEnd, APromptTakesTimeByItsTokens) {
    FrontEnd one{2_ms, 10_us, 1, 100};
    EXPECT_EQ(one.through(10_ms, 300), 15_ms);
    EXPECT_EQ(one.through(10_ms, 0), 17_ms);
    // A short prompt overtakes a long one neither in another front end nor without a wait.
    FrontEnd two{2_ms, 10_us, 2, 100};
    EXPECT_EQ(two.through(10_ms, 1000), 22_ms);
    EXPECT_EQ(two.through(10_ms, 0), 22_ms);
    EXPECT_EQ(two.through(12_ms, 1000), 24_ms);  // by the second one
    FrontEnd any{2_ms, 10_us, 0, 100};
    EXPECT_EQ(any.through(10_ms, 1000), 22_ms);
    EXPECT_EQ(any.through(11_ms, 0), 22_ms);
    EXPECT_EQ(any.through(30_ms, 100), 33_ms);
}

ServingResult served(std::int64_t users, std::int64_t front_ends) {
    LinearCost cost(10_ms, Time{});
    const std::vector<Request> requests(8, Request{.prompt_tokens = 1, .output_tokens = 2});
    ServingResult result = serve(requests,
                                 {.users = users, .front_end = 3_ms, .front_ends = front_ends},
                                 pool_of(cost),
                                 *make_request_router("round_robin", 1));
    __int128 sojourns = 0;
    for (const RequestRecord& record : result.records) {
        sojourns += record.end_to_end().picoseconds();
    }
    EXPECT_TRUE(sojourns == result.request_picoseconds);
    return result;
}

// Four users send at once. The first request begins alone; the others share the step behind it.
TEST(FrontEnd, AnswersOfAClosedLoadDrawApart) {
    const ServingResult result = served(4, 1);
    EXPECT_EQ(result.records[0].first_scheduled, 3_ms);
    for (const std::size_t other : {1, 2, 3}) {
        EXPECT_EQ(result.records[other].arrival, Time{});
        EXPECT_EQ(result.records[other].first_scheduled, 13_ms);
    }
    EXPECT_EQ(result.records[0].last_token, 23_ms);
    EXPECT_EQ(result.records[4].arrival, 23_ms);
    EXPECT_EQ(result.records[4].first_token, 43_ms);
    // At once, they stay together.
    const ServingResult together = served(4, 0);
    for (const RequestRecord& record : together.records) {
        EXPECT_EQ(record.time_to_first_token(), 13_ms);
    }
}

TEST(FrontEnd, AnOpenLoadKeepsItsArrivals) {
    const ServingResult result = served(0, 2);
    for (const RequestRecord& record : result.records) {
        EXPECT_EQ(record.arrival, Time{});
    }
    // Two at 3 ms; six behind the step that these begin, of which the last is queued at 12 ms.
    EXPECT_EQ(result.records[1].first_token, 13_ms);
    EXPECT_EQ(result.records[2].first_token, 23_ms);
    EXPECT_EQ(result.records[7].first_token, 23_ms);
}

// In a closed load the k-th request that is sent has the k-th prompt.
TEST(FrontEnd, PromptsOfALoadTakeTheirOwnTimes) {
    for (const std::int64_t users : {0, 2}) {
        LinearCost cost(10_ms, Time{});
        std::vector<Request> requests(4, Request{.prompt_tokens = 100, .output_tokens = 2});
        requests[1].prompt_tokens = 500;
        requests[3].prompt_tokens = 1000;
        const ServingResult result =
            serve(requests,
                  {.users = users, .front_end = 1_ms, .front_end_token = 10_us, .front_ends = 1},
                  pool_of(cost),
                  *make_request_router("round_robin", 1));
        EXPECT_EQ(result.records[0].first_scheduled, 2_ms);
        EXPECT_EQ(result.records[1].first_scheduled, 12_ms);  // queued at 8 ms, behind a step
        if (users == 0) {
            EXPECT_EQ(result.records[2].first_scheduled, 12_ms);  // at 10 ms
            EXPECT_EQ(result.records[3].first_scheduled, 22_ms);  // at 21 ms
        } else {
            EXPECT_EQ(result.records[2].arrival, 22_ms);
            EXPECT_EQ(result.records[2].first_scheduled, 32_ms);  // at 24 ms
            EXPECT_EQ(result.records[3].arrival, 32_ms);
            EXPECT_EQ(result.records[3].first_scheduled, 52_ms);  // at 43 ms
        }
    }
}

}  // namespace
}  // namespace orrery
