// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/collected_load.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

std::vector<Request> requests_at(std::initializer_list<double> seconds) {
    std::vector<Request> requests;
    for (const double at : seconds) {
        requests.push_back({.arrival = Time::seconds(at)});
    }
    return requests;
}

std::vector<double> handed_on(const CollectedLoad& load) {
    std::vector<double> seconds;
    for (const Request& request : load.requests) {
        seconds.push_back(request.arrival.seconds());
    }
    return seconds;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(found[i], wanted[i], 1e-9);
    }
}

// The request that comes 0.3 s after the last batch takes the others with it.
TEST(CollectedLoad, ARequestTakesTheWaitingOnesWithIt) {
    const CollectedLoad all = collected(requests_at({0.1, 0.25, 0.375, 0.5}),
                                        {.longest = Time::seconds(0.3), .most = 96});
    expect_near(handed_on(all), {0.375, 0.375, 0.375, 0.8});  // nothing comes after the last one
    EXPECT_NEAR(all.mean_wait.seconds(), (0.275 + 0.125 + 0 + 0.3) / 4, 1e-9);
}

TEST(CollectedLoad, AFullBatchLeavesAtOnce) {
    const CollectedLoad all =
        collected(requests_at({0.01, 0.02, 0.03}), {.longest = Time::seconds(0.3), .most = 2});
    expect_near(handed_on(all), {0.02, 0.02, 0.33});
}

TEST(CollectedLoad, AQuietTimeEndsTheWaiting) {
    const CollectedLoad all =
        collected(requests_at({0.1, 1}), {.longest = Time::seconds(0.3), .most = 96});
    expect_near(handed_on(all), {0.4, 1});
}

TEST(CollectedLoad, BatchesGoToTheServersInTurn) {
    const CollectedLoad first =
        collected(requests_at({0.01, 0.02, 0.03, 0.04, 0.05, 0.06}),
                  {.longest = Time::seconds(0.3), .most = 2, .servers = 2});
    expect_near(handed_on(first), {0.02, 0.02, 0.06, 0.06});
}

}  // namespace
}  // namespace orrery
