// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/front_end.h"

#include <gtest/gtest.h>

#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

TEST(FrontEnd, RequestsWaitForThoseBeforeThem) {
    FrontEnd one{2_ms, 1, 100};
    EXPECT_EQ(one.through(10_ms), 12_ms);
    EXPECT_EQ(one.through(10_ms), 14_ms);
    EXPECT_EQ(one.through(13_ms), 16_ms);
    EXPECT_EQ(one.through(30_ms), 32_ms);
    FrontEnd two{2_ms, 2, 100};
    EXPECT_EQ(two.through(10_ms), 12_ms);
    EXPECT_EQ(two.through(10_ms), 12_ms);
    EXPECT_EQ(two.through(10_ms), 14_ms);
    FrontEnd any{2_ms, 0, 100};
    for (int i = 0; i < 9; ++i) {
        EXPECT_EQ(any.through(10_ms), 12_ms);
    }
    FrontEnd more_than_requests{2_ms, std::int64_t{1} << 60, 1};
    EXPECT_EQ(more_than_requests.through(10_ms), 12_ms);
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

}  // namespace
}  // namespace orrery
