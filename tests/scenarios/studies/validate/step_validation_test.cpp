// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/step_validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/validate/assumed_inputs.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(StepValidation, OwnRunsStandBesideTheirSimulatedStepsAndTheControl) {
    const auto control = fitted_control(default_catalogue());
    ASSERT_TRUE(control);
    const auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/gpt2-124m-1gpu.yaml");
    ASSERT_TRUE(scenario);
    const Answer answer = simulate_scenario(*scenario, {.step_table = EfficiencyTable{}}).value();
    MeasuredRun run{.name = "a", .family = "f", .scenario = *scenario, .measured_s = 1};
    double last = 0;
    const Validation found = validate_runs(
        {run, run}, *control, {.catalogue = default_catalogue(), .progress = [&](double share) {
                                   EXPECT_GT(share, last);
                                   last = share;
                               }});
    ASSERT_EQ(found.rows.size(), 2U);
    EXPECT_EQ(last, 1.0);
    EXPECT_EQ(found.rows[0].name, "a");
    EXPECT_EQ(found.rows[0].family, "f");
    EXPECT_EQ(found.rows[0].predicted_s, answer.iteration.seconds());
    EXPECT_EQ(found.rows[0].control_s, control->predicted_s(*scenario));
    EXPECT_EQ(found.rows[0].sigma, answer.uncertainty);
}

// Steps of software that no fitted one ran on took longer in the median than simulated.
TEST(StepValidation, PredictsTheMedianOfUnseenSoftware) {
    const auto control = fitted_control(default_catalogue());
    ASSERT_TRUE(control);
    auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/gpt2-124m-1gpu.yaml");
    ASSERT_TRUE(scenario);
    EfficiencyTable table;
    const auto set = [&](const char* name, double value) {
        table.set(name, "*", "*", {.value = value, .sigma = 0, .source = "test"});
    };
    table.set("step.seen.seen",
              scenario->device.generation,
              dtype_class(scenario->plan.precision),
              {.value = 1, .sigma = 0, .source = "test"});
    set("step.residual", 0.05);
    set("step.residual.lineage", 0.1);
    set("step.shift.lineage", 0.2);
    MeasuredRun run{.name = "a", .family = "f", .scenario = *scenario, .measured_s = 1};
    run.scenario.software = "seen";
    MeasuredRun unseen = run;
    unseen.scenario.software = "another";
    const Validation found = validate_runs(
        {run, unseen}, *control, {.catalogue = default_catalogue(), .step_table = table});
    ASSERT_EQ(found.rows.size(), 2U);
    EXPECT_EQ(found.rows[0].predicted_s, found.rows[0].simulated_s());
    EXPECT_DOUBLE_EQ(found.rows[1].predicted_s, found.rows[0].predicted_s * std::exp(0.2));
    EXPECT_DOUBLE_EQ(found.rows[1].simulated_s(), found.rows[0].simulated_s());
}

// Another value of an assumed column is timed without simulating its ranks, where that gives the
// same picoseconds.
TEST(StepValidation, AssumedColumnsSpreadWhatSimulationsOfOtherValuesDo) {
    const auto control = fitted_control(default_catalogue());
    ASSERT_TRUE(control);
    const auto cases = read_published_cases(control_table(default_catalogue()).string());
    ASSERT_TRUE(cases);
    const Catalogue catalogue{default_catalogue()};
    std::size_t looked_at = 0;
    for (const PublishedCase& row : *cases) {
        // Of more copies of the model only a few are timed.
        const Result<Scenario> own = scenario_of(row, catalogue);
        if (!own || row.assumed.size() < 3 || row.num_gpus > 64 ||
            own->plan.data_parallel_size > 8 || own->model.num_layers > 48) {
            continue;
        }
        const Answer answer = simulate_scenario(*own, {.step_table = EfficiencyTable{}}).value();
        const auto step_of = [&](const PublishedCase& other) -> std::optional<double> {
            Result<Scenario> scenario = scenario_of(other, catalogue);
            if (!scenario) {
                return std::nullopt;
            }
            scenario->network = NetworkFidelity::analytic;
            const Result<Answer> found = simulate_scenario(*scenario);
            return found && (found->memory.fits || !answer.memory.fits)
                       ? std::optional{found->iteration.seconds()}
                       : std::nullopt;
        };
        const std::optional<double> here = step_of(row);
        ASSERT_TRUE(here);
        const double spread = assumed_spread(row, *here, step_of);
        const Validation found =
            validate_steps({row}, *control, {.catalogue = default_catalogue()});
        ASSERT_EQ(found.rows.size(), 1U);
        EXPECT_EQ(found.rows[0].sigma, std::hypot(answer.uncertainty, spread)) << row.name;
        if (++looked_at == 3) {
            return;
        }
    }
    FAIL() << "only " << looked_at << " rows of the table are like that";
}

// Where the paths of a message's channels meet by chance, ranks that do the same take different
// times. What an assumed column changes does not depend on that.
TEST(StepValidation, AssumedColumnsSpreadNothingByTheChanceOfHashedPaths) {
    const auto control = fitted_control(default_catalogue());
    ASSERT_TRUE(control);
    auto cases =
        read_published_cases((default_catalogue() / "published" / "training_more.csv").string());
    ASSERT_TRUE(cases);
    const auto found = std::ranges::find(*cases, "L3-8k", &PublishedCase::name);
    ASSERT_NE(found, cases->end());
    PublishedCase row = *found;
    row.num_gpus = 1024;
    row.model.num_layers = 14;  // and the embedding and the loss
    row.plan.virtual_pipeline_model_parallel_size = 1;
    row.plan.data_parallel_size = 8;
    row.plan.global_batch_size = 32;
    row.assumed = {"micro_batch_size"};
    const Catalogue catalogue{default_catalogue()};
    const Result<Scenario> own = scenario_of(row, catalogue);
    ASSERT_TRUE(own) << own.error().to_string();
    ASSERT_EQ(own->cluster.fabric.routing, RoutingKind::ecmp);
    const auto spread_with = [&](RoutingKind routing) {
        const auto step_of = [&](const PublishedCase& other) -> std::optional<double> {
            Scenario scenario = scenario_of(other, catalogue).value();
            scenario.network = NetworkFidelity::analytic;
            scenario.cluster.fabric.routing = routing;
            return simulate_scenario(scenario).value().iteration.seconds();
        };
        return assumed_spread(row, *step_of(row), step_of);
    };
    const Answer answer = simulate_scenario(*own, {.step_table = EfficiencyTable{}}).value();
    const Validation validated =
        validate_steps({row}, *control, {.catalogue = default_catalogue()});
    ASSERT_EQ(validated.rows.size(), 1U);
    const auto sigma_with = [&](RoutingKind routing) {
        return std::hypot(answer.uncertainty, spread_with(routing));
    };
    EXPECT_EQ(validated.rows[0].sigma, sigma_with(RoutingKind::spray));
    EXPECT_NE(validated.rows[0].sigma, sigma_with(RoutingKind::ecmp));
}

TEST(StepValidation, ARowThatIsNoScenarioIsToldWithItsReason) {
    const auto control = fitted_control(default_catalogue());
    ASSERT_TRUE(control);
    auto cases = read_published_cases(control_table(default_catalogue()).string());
    ASSERT_TRUE(cases);
    PublishedCase row = cases->front();
    row.gpu = "no-such-gpu";
    const Validation found = validate_steps({row}, *control, {.catalogue = default_catalogue()});
    EXPECT_TRUE(found.rows.empty());
    ASSERT_EQ(found.skipped.size(), 1U);
    EXPECT_EQ(found.skipped[0].name, row.name);
    EXPECT_FALSE(found.skipped[0].reason.empty());
}

}  // namespace
}  // namespace orrery
