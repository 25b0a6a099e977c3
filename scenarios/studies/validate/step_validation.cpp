// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/step_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "engine/base/parallel.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/validate/assumed_inputs.h"
#include "scenarios/studies/validate/plain_steps.h"

namespace orrery {
namespace {

// Rows with equal text are plans among which a search would choose.
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

// Estimated cost of simulating a row: passes of layers over micro-batches, over all ranks. In a
// ring, a pass of a rank exchanges parts of the sequence with each other rank.
std::int64_t work_of(const ParallelPlan& plan, const Transformer& model) {
    const std::int64_t micro_batches =
        plan.global_batch_size / std::max<std::int64_t>(1, plan.micro_batch_size);
    const bool ring = plan.context_parallel_comm == ContextParallelComm::ring;
    const std::int64_t exchanges = ring ? plan.context_parallel_size : 1;
    return micro_batches * plan.tensor_model_parallel_size * plan.context_parallel_size *
           exchanges * model.num_layers;
}
std::int64_t work_of(const PublishedCase& row) {
    return work_of(row.plan, row.model);
}
std::int64_t work_of(const MeasuredRun& run) {
    return work_of(run.scenario.plan, run.scenario.model);
}

// Indices with the largest work first: else one thread would be left with it at the end.
template <class Row>
std::vector<std::size_t> order_of_work(const std::vector<Row>& rows) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, std::ranges::greater{}, [&](std::size_t i) { return work_of(rows[i]); });
    return order;
}

// Results in the order of the table, for any number of threads.
template <class Row, class Outcome>
Validation validate_each(const std::vector<Row>& rows,
                         const StepValidationOptions& options,
                         Outcome outcome_of) {
    std::vector<CaseOutcome> outcomes(rows.size());
    const std::vector<std::size_t> order = order_of_work(rows);
    for_each_index(
        rows.size(),
        options.jobs,
        [&](std::size_t i) { outcomes[order[i]] = outcome_of(rows[order[i]]); },
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

// Figures of a measured step, published or the user's own. `sigma` is only the simulation's own.
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
                         .predicted_s = answer->iteration.seconds() * std::exp(answer->shift),
                         .control_s = control.predicted_s(scenario),
                         .fits = answer->memory.fits,
                         .wall_s = wall.count(),
                         .sigma = answer->uncertainty,
                         .shift = answer->shift};
}

CaseOutcome validate_case(const PublishedCase& row,
                          const Control& control,
                          const Catalogue& catalogue,
                          PlainSteps& steps,
                          const StepValidationOptions& options) {
    const auto skip = [&](const Error& error) {
        const bool of_row = error.where.empty() || error.where == row.where;
        return SkippedCase{
            row.name, row.family, of_row ? error.what : error.where + ": " + error.what};
    };
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
    timed->sigma = std::hypot(timed->sigma, spread_of_assumed(row, catalogue, steps, timed->fits));
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

std::filesystem::path control_table(const std::filesystem::path& root) {
    return root / "published" / "training.csv";
}

ResultOrErrors<Control> fitted_control(const std::filesystem::path& root) {
    const auto cases = read_published_cases(control_table(root).string());
    if (!cases) {
        return unexpected<Errors>(cases.error());
    }
    const Catalogue catalogue{root};
    std::vector<MeasuredScenario> rows;
    for (const PublishedCase& row : *cases) {
        if (Result<Scenario> scenario = scenario_of(row, catalogue)) {
            rows.push_back({std::move(*scenario), row.family, row.measured_s});
        }
    }
    return Control{rows};
}

double spread_of_assumed(const PublishedCase& row,
                         const Catalogue& catalogue,
                         PlainSteps& steps,
                         bool fits) {
    const std::vector<Alternative> others = alternatives(row);
    const auto scenario_or_none = [&](const PublishedCase& of) -> std::optional<Scenario> {
        Result<Scenario> scenario = scenario_of(of, catalogue);
        return scenario ? std::optional{std::move(*scenario)} : std::nullopt;
    };
    const std::optional<Scenario> own = others.empty() ? std::nullopt : scenario_or_none(row);
    const std::optional<double> here = own ? steps.of(*own, fits) : std::nullopt;
    if (!here) {
        return 0;
    }
    std::vector<std::optional<Scenario>> scenarios;
    for (const Alternative& other : others) {
        scenarios.push_back(scenario_or_none(other.row));
    }
    const std::vector<std::optional<double>> seconds = steps.of_each(scenarios, fits);
    std::size_t next = 0;  // assumed_spread() asks in the same order
    return assumed_spread(row, *here, [&](const PublishedCase&) { return seconds[next++]; });
}

Validation validate_steps(const std::vector<PublishedCase>& cases,
                          const Control& control,
                          const StepValidationOptions& options) {
    // If the catalogue cannot be read, the simulation of each row reports it.
    PlainSteps steps{CostTables::read().value_or(CostTables{})};
    const Catalogue catalogue{options.catalogue};
    return validate_each(cases, options, [&](const auto& row) {
        return validate_case(row, control, catalogue, steps, options);
    });
}

Validation validate_runs(const std::vector<MeasuredRun>& runs,
                         const Control& control,
                         const StepValidationOptions& options) {
    return validate_each(
        runs, options, [&](const auto& run) { return validate_run(run, control, options); });
}

}  // namespace orrery
