// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "engine/parallel.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/program/calibration_file.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/validate_calibrated.h"
#include "scenarios/program/validate_serving.h"
#include "scenarios/report/collective_report.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/timed_report.h"
#include "scenarios/report/validation_report.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/validate/assumed_inputs.h"
#include "scenarios/studies/validate/collective_cases.h"
#include "scenarios/studies/validate/control.h"
#include "scenarios/studies/validate/exchange_cases.h"
#include "scenarios/studies/validate/layer_cases.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/serving_cases.h"
#include "scenarios/studies/validate/serving_kernel_cases.h"

namespace orrery {
namespace {

// The rows that the control's constants are fitted on ship with the catalogue.
std::filesystem::path control_table(const std::filesystem::path& root) {
    return root / "published" / "training.csv";
}

ResultOrErrors<Control> fitted_control(const std::filesystem::path& root) {
    const auto cases = read_published_cases(control_table(root));
    if (!cases) {
        return unexpected<Errors>(cases.error());
    }
    std::vector<MeasuredScenario> rows;
    for (const PublishedCase& row : *cases) {
        if (Result<Scenario> scenario = scenario_of(row, Catalogue{root})) {
            rows.push_back({std::move(*scenario), row.family, row.measured_s});
        }
    }
    return Control{rows};
}

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
double spread_of(const PublishedCase& row, const Catalogue& catalogue, const Answer& answer) {
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
        return found && (found->memory.fits || !answer.memory.fits)
                   ? std::optional{found->iteration.seconds()}
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

CaseOutcome validate_case(const PublishedCase& row,
                          const Catalogue& catalogue,
                          const Control& control,
                          const EfficiencyTable& step_table) {
    const auto skip = [&](const Error& error) {
        const bool of_row = error.where.empty() || error.where == row.where;
        return SkippedCase{
            row.name, row.family, of_row ? error.what : error.where + ": " + error.what};
    };
    const Result<Scenario> scenario = scenario_of(row, catalogue);
    if (!scenario) {
        return skip(scenario.error());
    }
    const auto begin = std::chrono::steady_clock::now();
    const Result<Answer> answer = simulate_scenario(*scenario, {.step_table = step_table});
    if (!answer) {
        return skip(answer.error());
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    return ValidatedCase{
        .name = row.name,
        .family = row.family,
        .measured_s = row.measured_s,
        .predicted_s = answer->iteration.seconds(),
        .control_s = control.predicted_s(*scenario),
        .stack = row.stack,
        .choice = choice_of(row),
        .model = row.model.name,
        .fits = answer->memory.fits,
        .wall_s = wall.count(),
        .sigma = std::hypot(answer->uncertainty, spread_of(row, catalogue, *answer))};
}

// In the order of the table, whatever the number of threads.
Validation validate_cases(const std::vector<PublishedCase>& cases,
                          const std::filesystem::path& root,
                          const Control& control,
                          const EfficiencyTable& step_table,
                          std::uint32_t jobs) {
    ProgressBar bar{"validating"};
    std::vector<CaseOutcome> outcomes(cases.size());
    for_each_index(
        cases.size(),
        jobs,
        [&](std::size_t i) {
            outcomes[i] = validate_case(cases[i], Catalogue{root}, control, step_table);
        },
        [&](std::size_t done) {
            bar.show(static_cast<double>(done) / static_cast<double>(cases.size()));
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

// The cases of the families that were asked for.
Result<std::vector<PublishedCase>> selected(const ValidateArguments& arguments,
                                            std::vector<PublishedCase> cases) {
    std::vector<std::string> known;
    for (const PublishedCase& row : cases) {
        if (std::ranges::find(known, row.family) == known.end()) {
            known.push_back(row.family);
        }
    }
    for (const std::string& family : arguments.families) {
        if (std::ranges::find(known, family) == known.end()) {
            return fail(arguments.file,
                        "no case is of family '" + family + "'",
                        nearest_hint(family, known));
        }
    }
    if (!arguments.families.empty()) {
        std::erase_if(cases, [&](const PublishedCase& row) {
            return std::ranges::find(arguments.families, row.family) == arguments.families.end();
        });
    }
    return cases;
}

ResultOrErrors<std::vector<PublishedCase>> cases_of(const ValidateArguments& arguments) {
    Errors errors;
    std::vector<AssumedValue> instead;
    for (const std::string& text : arguments.assume) {
        if (Result<AssumedValue> value = read_assumed_value(text)) {
            instead.push_back(std::move(*value));
        } else {
            errors.push_back(value.error());
        }
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return read_published_cases(arguments.file, instead);
}

bool is_table_of_operations(const std::string& file) {
    return is_collective_table(file) || is_exchange_table(file) || is_layer_table(file) ||
           is_serving_table(file) || is_serving_kernel_table(file) || is_memory_table(file);
}

Provenance made_of(const ValidateArguments& arguments) {
    Provenance provenance = provenance_of("validate");
    provenance.add_input(arguments.file);
    if (!is_table_of_operations(arguments.file)) {
        provenance.add_input(control_table(default_catalogue()));
    }
    for (const std::string& family : arguments.families) {
        provenance.add_option("family", family);
    }
    for (const std::string& value : arguments.assume) {
        provenance.add_option("assume", value);
    }
    if (arguments.calibrate_with > 0) {
        provenance.add_option("calibrate_with", std::to_string(arguments.calibrate_with));
        provenance.add_option("draws", std::to_string(arguments.draws));
        provenance.seed = arguments.seed;
    }
    add_calibration(provenance, arguments.calibration_file);
    return provenance;
}

std::string report_of(const TimedValidation& validation) {
    return timed_report(validation);
}
std::string report_of(const MemoryValidation& validation) {
    return memory_report(validation);
}

template <class Cases, class Validate>
int validate_operations(const ValidateArguments& arguments,
                        const ResultOrErrors<Cases>& cases,
                        Validate validate) {
    if (!cases) {
        return report_errors(cases.error());
    }
    const auto validation = validate(*cases, default_catalogue());
    if (!validation) {
        return report_error(validation.error());
    }
    const int status =
        print_output(arguments.json ? with_provenance(json_report(*validation), made_of(arguments))
                                    : report_of(*validation));
    return validation->rows.empty() ? kExitUserError : status;
}

int validate_collective_table(const ValidateArguments& arguments) {
    const auto cases = read_collective_cases(arguments.file);
    if (!cases) {
        return report_errors(cases.error());
    }
    const auto validation = validate_collectives(*cases, default_catalogue());
    if (!validation) {
        return report_error(validation.error());
    }
    const int status =
        print_output(arguments.json ? with_provenance(json_report(*validation), made_of(arguments))
                                    : collective_report(*validation));
    return validation->rows.empty() ? kExitUserError : status;
}

}  // namespace

int validate_command(const ValidateArguments& arguments) {
    if (is_table_of_operations(arguments.file)) {
        if (!arguments.assume.empty()) {
            return report_error({"--assume", "only a table of training steps assumes values", {}});
        }
        if (is_serving_table(arguments.file)) {
            return validate_serving_table(arguments, made_of(arguments));
        }
        if (is_memory_table(arguments.file)) {
            return validate_operations(
                arguments, read_memory_cases(arguments.file), validate_memory);
        }
        if (is_exchange_table(arguments.file)) {
            return validate_operations(
                arguments, read_exchange_cases(arguments.file), validate_exchanges);
        }
        if (is_layer_table(arguments.file)) {
            return validate_operations(
                arguments, read_layer_cases(arguments.file), validate_layers);
        }
        if (is_serving_kernel_table(arguments.file)) {
            return validate_operations(
                arguments, read_serving_kernel_cases(arguments.file), validate_serving_kernels);
        }
        return validate_collective_table(arguments);
    }
    const auto all = cases_of(arguments);
    if (!all) {
        return report_errors(all.error());
    }
    const auto cases = selected(arguments, *all);
    if (!cases) {
        return report_error(cases.error());
    }
    const std::filesystem::path root = default_catalogue();
    const ResultOrErrors<Control> control = fitted_control(root);
    if (!control) {
        return report_errors(control.error());
    }
    const auto table = calibrated_step_table(arguments.calibration_file);
    if (!table) {
        return report_errors(table.error());
    }
    Validation validation = validate_cases(*cases, root, *control, *table, arguments.jobs);
    validation.assumed_instead = arguments.assume;
    summarise_families(validation);
    if (arguments.calibrate_with > 0) {
        return calibrate_with_steps(arguments, *cases, validation, made_of(arguments));
    }
    const int status =
        print_output(arguments.json ? with_provenance(json_report(validation), made_of(arguments))
                                    : validation_report(validation));
    return validation.rows.empty() ? kExitUserError : status;
}

Command describe_validate() {
    const auto arguments = std::make_shared<ValidateArguments>();
    return {
        .name = "validate",
        .help = "Simulate published cases and compare with their measured step times",
        .options = {{"cases", &arguments->file, "Table of cases (CSV)", "FILE", true},
                    {"--family",
                     &arguments->families,
                     "Only the cases of a family; can be repeated",
                     "NAME"},
                    {"--assume",
                     &arguments->assume,
                     "Another value where a case's source does not state it; can be repeated",
                     "COLUMN=VALUE"},
                    {.names = "--calibrate-with",
                     .target = &arguments->calibrate_with,
                     .help = "Give the measured times of this many steps of each family, drawn, "
                             "and predict the others",
                     .type_name = "K",
                     .least = 1,
                     .most = 1'000'000},
                    {.names = "--draws",
                     .target = &arguments->draws,
                     .help = "With --calibrate-with: how many times steps are drawn",
                     .type_name = "N",
                     .least = 1,
                     .most = 10'000},
                    {.names = "--seed",
                     .target = &arguments->seed,
                     .help = "With --calibrate-with: seed of the draws",
                     .type_name = "N",
                     .least = 0,
                     .most = 1'000'000'000},
                    output_option(arguments->output,
                                  "With --calibrate-with and one family: calibration to write, "
                                  "for --calibration"),
                    calibration_option(arguments->calibration_file),
                    jobs_option(arguments->jobs),
                    {"--json", &arguments->json, "Print one JSON object instead of a table"}},
        .examples = {"validate scenarios/catalogue/published/training.csv",
                     "validate scenarios/catalogue/published/training.csv --family korthikanti",
                     "validate scenarios/catalogue/published/megascale_ablation.csv --assume "
                     "gpu=a800-80g",
                     "validate mine.csv --family mine --calibrate-with 3 -o mine.yaml"},
        .run = [arguments] { return validate_command(*arguments); },
    };
}

}  // namespace orrery
