// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/request_times.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using namespace literals;

TEST(RequestTimes, AddUpToTheTimeFromTheArrivalToTheLastToken) {
    const RequestRecord record{.arrival = 1_ms,
                               .first_scheduled = 3_ms,
                               .first_token = 7_ms,
                               .last_token = 107_ms,
                               .output_tokens = 9,
                               .cache_wait = 5_ms,
                               .cache_move = 6_ms,
                               .preempted = 9_ms};
    const RequestTimes times = times_of(record);
    EXPECT_EQ(times.queued, 2_ms);
    EXPECT_EQ(times.prompt, 4_ms);
    EXPECT_EQ(times.generation, 80_ms);
    Time all;
    for (const RequestPart& part : kRequestParts) {
        all += times.*part.time;
    }
    EXPECT_EQ(all, record.end_to_end());
}

}  // namespace
}  // namespace orrery
