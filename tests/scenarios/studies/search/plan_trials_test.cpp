// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_trials.h"

#include <gtest/gtest.h>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/scenarios/studies/search/timed_plans.h"

namespace orrery {
namespace {

// All small plans of 8 GPUs, in whatever way they are timed.
TEST(PlanTrials, GiveWhatSimulateGivesWhateverTheThreads) {
    const Scenario scenario = small_scenario("s", {});
    const SearchSpec spec{.clusters = {{.cluster = scenario.cluster, .device = scenario.device}}};
    const EfficiencyTable curves = testing::catalogue_table("kernel_efficiency.csv");
    const EfficiencyTable step = testing::catalogue_table("step_efficiency.csv");
    std::vector<std::unique_ptr<ClusterCosts>> costs;
    costs.push_back(*ClusterCosts::make(scenario.cluster, scenario.device, curves, step));
    std::vector<Candidate> candidates;
    for (const Scenario& small : small_scenarios()) {
        if (small.cluster.num_nodes == 2 && small.model.num_query_groups == 16) {
            candidates.push_back({.plan = small.plan});
        }
    }
    ASSERT_GT(candidates.size(), 10u);
    std::vector<const Candidate*> plans;
    for (const Candidate& candidate : candidates) {
        plans.push_back(&candidate);
    }
    for (const std::uint32_t jobs : {1U, 4U}) {
        PlanTrials trials{scenario, spec, costs, jobs};
        EXPECT_EQ(trials.simulated_together(), jobs);
        const auto folded = trials.folded_steps(plans);
        const auto simulated = trials.simulate(plans, NetworkFidelity::analytic);
        int folds = 0;
        for (std::size_t i = 0; i < plans.size(); ++i) {
            Scenario one = scenario;
            one.plan = plans[i]->plan;
            one.network = NetworkFidelity::analytic;
            const auto answer = simulate_scenario(one);
            ASSERT_TRUE(answer && simulated[i].answer);
            EXPECT_EQ(simulated[i].answer->iteration, answer->iteration);
            EXPECT_EQ(folded[i].value_or(answer->iteration), answer->iteration);
            folds += folded[i].has_value();
        }
        EXPECT_GT(folds, 5);
    }
}

// A slow GPU of the start slows the campaign down: a step that is slow as well would count it
// twice.
TEST(PlanTrials, ASearchForGoodputCountsAStandingFaultOnce) {
    const Scenario healthy = small_scenario("s", {});
    const Scenario slow = small_scenario(
        "s",
        {"faults=[{kind: slow_gpu, at: \"gpu:0\", factor: 1.5}]", "campaign={days: 5, seeds: 2}"});
    SearchSpec spec{.objective = Objective::goodput,
                    .clusters = {{.cluster = slow.cluster, .device = slow.device}}};
    const EfficiencyTable curves = testing::catalogue_table("kernel_efficiency.csv");
    const EfficiencyTable step = testing::catalogue_table("step_efficiency.csv");
    std::vector<std::unique_ptr<ClusterCosts>> costs;
    costs.push_back(*ClusterCosts::make(slow.cluster, slow.device, curves, step));
    const Candidate candidate{.plan = slow.plan};
    const Candidate* const plan = &candidate;
    const auto trial = [&] {
        PlanTrials trials{slow, spec, costs, 1};
        return std::move(trials.simulate({&plan, 1}, slow.network).front());
    };
    const auto step_alone = simulate_scenario(healthy);
    const auto by_goodput = trial();
    ASSERT_TRUE(step_alone && by_goodput.answer);
    EXPECT_EQ(by_goodput.answer->iteration, step_alone->iteration);
    EXPECT_LT(by_goodput.goodput, 0.95);
    EXPECT_GE(by_goodput.goodput, 0.99 / 1.5);
    spec.objective = Objective::step_time;
    EXPECT_GT(trial().answer->iteration, step_alone->iteration) << "nothing else counts it there";
}

}  // namespace
}  // namespace orrery
