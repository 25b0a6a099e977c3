// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/step_validation.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "engine/parallel.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/validate/assumed_inputs.h"

namespace orrery {
namespace {

// The same job with fewer replicas and a smaller batch, each replica as before: what an assumption
// changes by a share shows there as well, in a fraction of the time.
void take_few_replicas(Scenario& scenario) {
    constexpr std::int64_t kReplicas = 8;
    ParallelPlan& plan = scenario.plan;
    const std::int64_t replicas = plan.data_parallel_size;
    if (plan.hsdp_shard_size > 0) {
        return;
    }
    for (std::int64_t few = kReplicas; few < replicas; ++few) {
        const std::int64_t nodes = scenario.cluster.num_nodes * few;
        if (nodes % replicas == 0 && plan.global_batch_size * few % replicas == 0) {
            scenario.cluster.num_nodes = static_cast<std::uint32_t>(nodes / replicas);
            plan.global_batch_size = plan.global_batch_size * few / replicas;
            plan.data_parallel_size = few;
            return;
        }
    }
}

// What the assumed columns spread, on a network without contention: what matters is the difference.
double spread_of(const PublishedCase& row, const Catalogue& catalogue, bool fits) {
    if (row.assumed.empty()) {
        return 0;
    }
    const PredictRow predict = [&](const PublishedCase& other) -> std::optional<double> {
        Result<Scenario> scenario = scenario_of(other, catalogue);
        if (!scenario) {
            return std::nullopt;
        }
        scenario->network = NetworkFidelity::analytic;
        take_few_replicas(*scenario);
        const Result<Answer> found = simulate_scenario(*scenario);
        return found && (found->memory.fits || !fits) ? std::optional{found->iteration.seconds()}
                                                      : std::nullopt;
    };
    const std::optional<double> here = predict(row);
    return here ? assumed_spread(row, *here, predict) : 0;
}

// What a search would have to choose a plan for.
std::string choice_of(const PublishedCase& row) {
    return fmt::format("{} {} {} x {} {} {} {} {} {} {}",
                       row.family,
                       row.stack,
                       row.num_gpus,
                       row.gpu,
                       row.fabric,
                       row.features,
                       row.model.name,
                       row.model.seq_length,
                       row.plan.global_batch_size,
                       static_cast<int>(row.plan.precision));
}

using CaseOutcome = std::variant<ValidatedCase, SkippedCase>;

// In the order of the table, whatever the number of threads.
template <class Row, class Outcome>
Validation validate_each(const std::vector<Row>& rows,
                         const StepValidationOptions& options,
                         Outcome outcome_of) {
    std::vector<CaseOutcome> outcomes(rows.size());
    for_each_index(
        rows.size(),
        options.jobs,
        [&](std::size_t i) { outcomes[i] = outcome_of(rows[i]); },
        [&](std::size_t done) {
            if (options.progress) {
                options.progress(static_cast<double>(done) / static_cast<double>(rows.size()));
            }
        });
    Validation validation;
    for (CaseOutcome& outcome : outcomes) {
        if (auto* row = std::get_if<ValidatedCase>(&outcome)) {
            validation.rows.push_back(std::move(*row));
        } else {
            validation.skipped.push_back(std::move(std::get<SkippedCase>(outcome)));
        }
    }
    return validation;
}

// What every measured step shows, published or one's own; `sigma` is the simulation's own.
Result<ValidatedCase> timed_case(const Scenario& scenario,
                                 double measured_s,
                                 const Control& control,
                                 const StepValidationOptions& options) {
    const auto begin = std::chrono::steady_clock::now();
    const Result<Answer> answer = simulate_scenario(scenario, {.step_table = options.step_table});
    if (!answer) {
        return unexpected<Error>(answer.error());
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    return ValidatedCase{.measured_s = measured_s,
                         .predicted_s = answer->iteration.seconds(),
                         .control_s = control.predicted_s(scenario),
                         .fits = answer->memory.fits,
                         .wall_s = wall.count(),
                         .sigma = answer->uncertainty,
                         .shift = answer->shift};
}

CaseOutcome validate_case(const PublishedCase& row,
                          const Control& control,
                          const StepValidationOptions& options) {
    const auto skip = [&](const Error& error) {
        const bool of_row = error.where.empty() || error.where == row.where;
        return SkippedCase{
            row.name, row.family, of_row ? error.what : error.where + ": " + error.what};
    };
    const Catalogue catalogue{options.catalogue};
    const Result<Scenario> scenario = scenario_of(row, catalogue);
    if (!scenario) {
        return skip(scenario.error());
    }
    Result<ValidatedCase> timed = timed_case(*scenario, row.measured_s, control, options);
    if (!timed) {
        return skip(timed.error());
    }
    timed->name = row.name;
    timed->family = row.family;
    timed->stack = row.stack;
    timed->choice = choice_of(row);
    timed->model = row.model.name;
    timed->sigma = std::hypot(timed->sigma, spread_of(row, catalogue, timed->fits));
    return std::move(*timed);
}

CaseOutcome validate_run(const MeasuredRun& run,
                         const Control& control,
                         const StepValidationOptions& options) {
    Result<ValidatedCase> timed = timed_case(run.scenario, run.measured_s, control, options);
    if (!timed) {
        return SkippedCase{run.name, run.family, timed.error().to_string()};
    }
    timed->name = run.name;
    timed->family = run.family;
    timed->model = run.scenario.model.name;
    return std::move(*timed);
}

}  // namespace

std::filesystem::path control_table(const std::filesystem::path& catalogue) {
    return catalogue / "published" / "training.csv";
}

ResultOrErrors<Control> fitted_control(const std::filesystem::path& catalogue) {
    const auto cases = read_published_cases(control_table(catalogue).string());
    if (!cases) {
        return unexpected<Errors>(cases.error());
    }
    std::vector<MeasuredScenario> rows;
    for (const PublishedCase& row : *cases) {
        if (Result<Scenario> scenario = scenario_of(row, Catalogue{catalogue})) {
            rows.push_back({std::move(*scenario), row.family, row.measured_s});
        }
    }
    return Control{rows};
}

Validation validate_steps(const std::vector<PublishedCase>& cases,
                          const Control& control,
                          const StepValidationOptions& options) {
    return validate_each(
        cases, options, [&](const auto& row) { return validate_case(row, control, options); });
}

Validation validate_runs(const std::vector<MeasuredRun>& runs,
                         const Control& control,
                         const StepValidationOptions& options) {
    return validate_each(
        runs, options, [&](const auto& run) { return validate_run(run, control, options); });
}

}  // namespace orrery
