// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/cluster_costs.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "scenarios/studies/simulate/kernel_timings.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/scenarios/studies/search/timed_plans.h"

namespace orrery {
namespace {

TEST(ClusterCosts, TheSlowestDeviceIsThatOfASimulation) {
    const Scenario scenario = small_scenario("costs", {"plan.pipeline_model_parallel_size=2"});
    const testing::TimedPlans timed{scenario};
    const Program program = lower(scenario.model, scenario.plan);
    const CostModel cost{scenario.device, timed.curves};
    const StepEfficiency step{timed.step, scenario.device};
    const DeviceTimings expected =
        time_kernels(program, cost, step, scenario.device, step.slowest_of(8));
    for (int again = 0; again < 2; ++again) {
        const DeviceTimings times = timed.costs->slowest_device(program);
        ASSERT_EQ(times.kernels.size(), expected.kernels.size());
        EXPECT_EQ(times.num_sms, expected.num_sms);
        for (std::size_t k = 0; k < times.kernels.size(); ++k) {
            EXPECT_EQ(times.kernels[k].duration, expected.kernels[k].duration);
            EXPECT_EQ(times.kernels[k].sm_sensitivity_permille,
                      expected.kernels[k].sm_sensitivity_permille);
        }
    }
    EXPECT_LE(timed.costs->mean_device(program).kernels[0].duration, expected.kernels[0].duration);
}

}  // namespace
}  // namespace orrery
