// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/candidate.h"

#include <gtest/gtest.h>

#include "tests/scenarios/small_scenarios.h"
#include "tests/scenarios/studies/search/timed_plans.h"

namespace orrery {
namespace {

TEST(Candidate, TheSpaceIsTheSameWhateverTheThreads) {
    const Scenario scenario = small_scenario("s", {});
    SearchSpec spec{.clusters = {{.cluster = scenario.cluster, .device = scenario.device}}};
    spec.clusters[0].device.memory = Bytes{3 << 20} * 256;  // some plans do not fit
    const testing::TimedPlans timed{scenario};
    const Score score{spec, scenario};
    const auto found = [&](std::uint32_t jobs) {
        return candidates_on(scenario, spec, 0, *timed.costs, score, jobs);
    };
    const Candidates one = found(1);
    const Candidates four = found(4);
    EXPECT_EQ(one.points, one.left_out.total() + static_cast<std::int64_t>(one.plans.size()));
    EXPECT_GT(one.left_out.memory, 0);
    EXPECT_GT(one.left_out.least_memory, 1);
    EXPECT_EQ(one.points, four.points);
    EXPECT_EQ(one.admitted, four.admitted);
    EXPECT_EQ(one.left_out.rows(), four.left_out.rows());
    EXPECT_EQ(one.left_out.least_memory, four.left_out.least_memory);
    ASSERT_EQ(one.plans.size(), four.plans.size());
    ASSERT_GT(one.plans.size(), 100u);
    for (std::size_t i = 0; i < one.plans.size(); ++i) {
        EXPECT_EQ(one.plans[i].plan, four.plans[i].plan) << i;
        EXPECT_EQ(one.plans[i].objective_bound, four.plans[i].objective_bound) << i;
        EXPECT_EQ(one.plans[i].guess, four.plans[i].guess) << i;
    }
}

TEST(Candidate, TheListingStopsOnEveryThread) {
    const Scenario scenario = small_scenario("s", {});
    const SearchSpec spec{.clusters = {{.cluster = scenario.cluster, .device = scenario.device}}};
    const testing::TimedPlans timed{scenario};
    const Score score{spec, scenario};
    const Candidates all = candidates_on(scenario, spec, 0, *timed.costs, score, 1);
    for (const std::uint32_t jobs : {1U, 4U}) {
        int asked = 0;
        bool stopped = false;
        const Candidates some = candidates_on(scenario, spec, 0, *timed.costs, score, jobs, [&] {
            EXPECT_FALSE(stopped);  // not asked again
            return stopped = ++asked == 5;
        });
        EXPECT_TRUE(stopped);
        EXPECT_LT(some.points, all.points);
    }
}

}  // namespace
}  // namespace orrery
