// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/stage_builder.h"

#include <gtest/gtest.h>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/scenarios/studies/search/timed_plans.h"

namespace orrery {
namespace {

TEST(StageBuilder, PutsEverySmallScenarioTogetherAsItIsSimulated) {
    std::size_t folded = 0;
    for (Scenario scenario : small_scenarios()) {
        scenario.network = NetworkFidelity::analytic;
        testing::TimedPlans timed{scenario};
        const auto step = timed.timer.step_of(scenario.plan);
        if (!step) {
            continue;
        }
        const auto answer = simulate_scenario(scenario);
        ASSERT_TRUE(answer) << scenario.name;
        EXPECT_EQ(step->picoseconds(), answer->iteration.picoseconds()) << scenario.name;
        ++folded;
    }
    EXPECT_GE(folded * 3, small_scenarios().size() * 2);
}

TEST(StageBuilder, FollowsEverySchedule) {
    for (const char* schedule : {"1f1b", "gpipe", "zero_bubble"}) {
        Scenario scenario = small_scenario(schedule,
                                           {"plan.pipeline_model_parallel_size=4",
                                            "plan.overlap_p2p=true",
                                            std::string{"plan.schedule="} + schedule});
        scenario.network = NetworkFidelity::analytic;
        testing::TimedPlans timed{scenario};
        const auto step = timed.timer.step_of(scenario.plan);
        ASSERT_TRUE(step) << schedule << ": " << step.error();
        EXPECT_EQ(*step, simulate_scenario(scenario)->iteration) << schedule;
    }
}

}  // namespace
}  // namespace orrery
