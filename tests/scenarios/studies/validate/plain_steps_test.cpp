// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/plain_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/validate/control.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/step_validation.h"

namespace orrery {
namespace {

// The first row of the table with up to 64 GPUs, eight replicas and a kind of node with NICs.
PublishedCase row_of_eight_replicas() {
    const auto cases = read_published_cases(control_table(default_catalogue()).string()).value();
    const Catalogue catalogue{default_catalogue()};
    const auto found = std::ranges::find_if(cases, [&](const PublishedCase& row) {
        const Result<Scenario> scenario = scenario_of(row, catalogue);
        return scenario && row.num_gpus <= 64 && scenario->plan.data_parallel_size == 8 &&
               scenario->cluster.num_nodes > 1 && scenario->model.num_layers <= 48;
    });
    return found == cases.end() ? PublishedCase{} : *found;
}

Scenario scenario_of_row() {
    return scenario_of(row_of_eight_replicas(), Catalogue{default_catalogue()}).value();
}

PlainStep step_of(const Scenario& scenario, bool fits = true) {
    return {scenario.cluster, scenario.device, scenario.model, scenario.plan, fits};
}

TEST(PlainSteps, AreStepsWithoutContention) {
    Scenario scenario = scenario_of_row();
    PlainSteps steps{CostTables::read().value()};
    const std::optional<double> seconds = steps.of(scenario, false);
    scenario.network = NetworkFidelity::analytic;
    EXPECT_EQ(seconds, simulate_scenario(scenario).value().iteration.seconds());
}

// A step that folds, and one that is simulated because its optimizer lies on the host.
TEST(PlainSteps, TakeTheFactorsThatTheyAreGiven) {
    Scenario scenario = scenario_of_row();
    CostTables slower = CostTables::read().value();
    slower.step.set("sustained.memory", "*", "*", {.value = 3, .sigma = 0, .source = {}});
    for (const bool on_the_host : {false, true}) {
        scenario.plan.optimizer_cpu_offload = on_the_host;
        const auto seconds = PlainSteps{CostTables::read().value()}.of(scenario, false);
        ASSERT_TRUE(seconds);
        EXPECT_GT(PlainSteps{slower}.of(scenario, false), 1.02 * *seconds) << on_the_host;
    }
}

TEST(PlainSteps, MoreReplicasOfTheSameWorkAreOneStep) {
    Scenario scenario = scenario_of_row();
    PlainSteps steps{CostTables::read().value()};
    const std::optional<double> eight = steps.of(scenario, false);
    scenario.name = "another name";
    scenario.software = "another software";
    scenario.cluster.num_nodes *= 4;
    scenario.plan.data_parallel_size *= 4;
    scenario.plan.global_batch_size *= 4;
    EXPECT_EQ(steps.of(scenario, false), eight);
    EXPECT_EQ(steps.distinct(), 1U);
    scenario.plan.global_batch_size *= 2;
    EXPECT_GT(steps.of(scenario, false), eight);
    EXPECT_EQ(steps.distinct(), 2U);
}

TEST(PlainSteps, ThreadsThatNeedTheSameStepShareIt) {
    const Scenario scenario = scenario_of_row();
    PlainSteps steps{CostTables::read().value()};
    std::optional<double> here;
    std::optional<double> there;
    {
        const std::jthread one{[&] { here = steps.of(scenario, true); }};
        const std::jthread other{[&] { there = steps.of(scenario, true); }};
    }
    EXPECT_TRUE(here);
    EXPECT_EQ(here, there);
    EXPECT_EQ(steps.distinct(), 1U);
}

TEST(PlainSteps, OfEachAreInOrderAndLeaveOutWhatIsNoScenario) {
    const Scenario scenario = scenario_of_row();
    Scenario longer = scenario;
    longer.plan.global_batch_size *= 2;
    PlainSteps steps{CostTables::read().value()};
    const auto seconds = steps.of_each({longer, std::nullopt, scenario, longer}, false);
    ASSERT_EQ(seconds.size(), 4U);
    EXPECT_EQ(seconds[0], steps.of(longer, false));
    EXPECT_EQ(seconds[1], std::nullopt);
    EXPECT_EQ(seconds[2], steps.of(scenario, false));
    EXPECT_EQ(seconds[3], seconds[0]);
    EXPECT_GT(seconds[0], seconds[2]);
    EXPECT_EQ(steps.distinct(), 2U);
}

// Each part that decides a step makes it another one.
TEST(PlainSteps, DifferInClusterDeviceModelPlanAndMemory) {
    const Scenario base = scenario_of_row();
    EXPECT_EQ(step_of(base), step_of(base));
    EXPECT_NE(step_of(base), step_of(base, false));
    const auto changed = [&](const auto& change) {
        Scenario other = base;
        change(other);
        return step_of(other);
    };
    EXPECT_NE(step_of(base), changed([](Scenario& s) { ++s.cluster.num_nodes; }));
    EXPECT_NE(step_of(base), changed([](Scenario& s) { s.cluster.slow_node_share = 0.5; }));
    EXPECT_NE(step_of(base), changed([](Scenario& s) { s.cluster.node.host_speed = 2; }));
    EXPECT_NE(step_of(base), changed([](Scenario& s) { s.cluster.fabric.hash_seed = 7; }));
    EXPECT_NE(step_of(base), changed([](Scenario& s) { s.cluster.ethernet.tiers = 2; }));
    EXPECT_NE(step_of(base), changed([](Scenario& s) { s.cluster.use_gpus(8); }));
    EXPECT_NE(step_of(base), changed([](Scenario& s) { s.device.power_limit = 300; }));
    EXPECT_NE(step_of(base), changed([](Scenario& s) { ++s.model.num_layers; }));
    EXPECT_NE(step_of(base), changed([](Scenario& s) { ++s.plan.micro_batch_size; }));
}

}  // namespace
}  // namespace orrery
