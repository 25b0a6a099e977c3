// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_goodput.h"

#include <gtest/gtest.h>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

Scenario faulty(const char* scale) {
    return small_scenario("s",
                          {std::string{"faults=[{catalogue: llama-3-405b, scale: "} + scale + "}]",
                           "campaign={days: 5, seeds: 4}"});
}

TEST(PlanGoodput, FallsWithMoreFaults) {
    const auto few = plan_goodput(faulty("10"), Time::seconds(1), 4);
    const auto many = plan_goodput(faulty("1000"), Time::seconds(1), 4);
    ASSERT_TRUE(few && many);
    EXPECT_LE(*few, 1);
    EXPECT_GT(*many, 0);
    EXPECT_LT(*many, *few);
}

}  // namespace
}  // namespace orrery
