// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/admission.h"

#include <gtest/gtest.h>

#include "engine/serving/serving_run.h"
#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

TEST(Admission, ObjectivesOfZeroAllowEverything) {
    EXPECT_EQ(make_admission("all", 1_ms, 1_ms), nullptr);
    EXPECT_EQ(make_admission("by_magic", 1_ms, 1_ms), nullptr);
    const PredictedLatency slow{.first_token = 3_ms, .output_token = 2_ms};
    EXPECT_TRUE(make_admission("objectives", 3_ms, 2_ms)->admits(slow));
    EXPECT_FALSE(make_admission("objectives", 2_ms, 2_ms)->admits(slow));
    EXPECT_FALSE(make_admission("objectives", 3_ms, 1_ms)->admits(slow));
    EXPECT_TRUE(make_admission("objectives", Time{}, Time{})->admits(slow));
}

ServingResult run(const std::vector<Request>& requests, Time first_token, Time output_token) {
    LinearCost cost(10_ms, 1_ms);
    ServingPool pool = pool_of(cost, 1024, 1);
    StepEstimates estimates(cost, pool.limits, 1);
    const auto admission = make_admission("objectives", first_token, output_token);
    return serve(requests,
                 {},
                 pool,
                 *make_request_router("round_robin", 1),
                 {},
                 {.admission = admission.get(), .estimates = {&estimates}});
}

// Steps of 11 ms for a prompt alone. The fourth of four that come at once would wait for three.
TEST(Admission, WhatWouldComeTooLateIsTurnedAwayAndCounted) {
    const std::vector<Request> requests(6, Request{.prompt_tokens = 8, .output_tokens = 2});
    const ServingResult result = run(requests, 40_ms, Time{});
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(result.records[i].rejected, i > 2) << i;
        EXPECT_EQ(result.records[i].refused, i > 2) << i;
        EXPECT_EQ(result.records[i].finished(), i <= 2) << i;
    }
    EXPECT_TRUE(run(requests, 80_ms, Time{}).records[5].finished());
}

// A step of b sequences takes 10 + b ms: a fifth would make it 15.
TEST(Admission, WhatWouldSlowTheTokensDownIsTurnedAway) {
    const std::vector<Request> requests(6, Request{.prompt_tokens = 8, .output_tokens = 20});
    const ServingResult result = run(requests, Time{}, 14_ms);
    EXPECT_TRUE(result.records[3].finished());
    EXPECT_TRUE(result.records[4].rejected);
    const std::vector<Request> single(6, Request{.prompt_tokens = 8, .output_tokens = 1});
    EXPECT_TRUE(run(single, Time{}, 14_ms).records[5].finished());
}

TEST(Admission, UsersOfAClosedLoadGoOnWithTheirNextRequest) {
    LinearCost cost(10_ms, 1_ms);
    const ServingPool pool = pool_of(cost);
    StepEstimates estimates(cost, pool.limits, 1);
    const auto admission = make_admission("objectives", 25_ms, Time{});
    const std::vector<Request> requests(50, Request{.prompt_tokens = 8, .output_tokens = 3});
    const ServingResult result = serve(requests,
                                       {.users = 4},
                                       pool,
                                       *make_request_router("round_robin", 1),
                                       {},
                                       {.admission = admission.get(), .estimates = {&estimates}});
    __int128 sojourns = 0;
    std::int64_t rejected = 0;
    for (const RequestRecord& record : result.records) {
        EXPECT_NE(record.finished(), record.rejected);
        rejected += record.rejected;
        sojourns += record.rejected ? 0 : record.end_to_end().picoseconds();
    }
    EXPECT_GT(rejected, 0);
    EXPECT_TRUE(sojourns == result.request_picoseconds);
}

}  // namespace
}  // namespace orrery
