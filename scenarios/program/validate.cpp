// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "scenarios/program/calibration_file.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/row_families.h"
#include "scenarios/program/validate_calibrated.h"
#include "scenarios/program/validate_serving.h"
#include "scenarios/report/collective_report.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/timed_report.h"
#include "scenarios/report/validation_report.h"
#include "scenarios/studies/validate/assumed_inputs.h"
#include "scenarios/studies/validate/collective_cases.h"
#include "scenarios/studies/validate/exchange_cases.h"
#include "scenarios/studies/validate/layer_cases.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/serving_cases.h"
#include "scenarios/studies/validate/serving_kernel_cases.h"
#include "scenarios/studies/validate/step_validation.h"

namespace orrery {
namespace {

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
std::string report_of(const CollectiveValidation& validation) {
    return collective_report(validation);
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
        return validate_operations(
            arguments, read_collective_cases(arguments.file), validate_collectives);
    }
    const bool own = is_run_table(arguments.file);
    if (own && (!arguments.assume.empty() || arguments.calibrate_with > 0)) {
        return report_error({arguments.file,
                             "--assume and --calibrate-with take a table with the columns of "
                             "published cases",
                             "`orrery import log` makes one from a training's log"});
    }
    const auto all = own ? std::vector<PublishedCase>{} : cases_of(arguments);
    const auto runs = own ? read_measured_runs(arguments.file) : std::vector<MeasuredRun>{};
    if (!all || !runs) {
        return report_errors(all ? runs.error() : all.error());
    }
    const auto cases = own ? std::vector<PublishedCase>{} : rows_of_families(arguments, *all);
    const auto own_runs = own ? rows_of_families(arguments, *runs) : std::vector<MeasuredRun>{};
    if (!cases || !own_runs) {
        return report_error(cases ? own_runs.error() : cases.error());
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
    ProgressBar bar{"validating"};
    const StepValidationOptions options{.catalogue = root,
                                        .step_table = *table,
                                        .jobs = arguments.jobs,
                                        .progress = [&](double share) { bar.show(share); }};
    Validation validation = own ? validate_runs(*own_runs, *control, options)
                                : validate_steps(*cases, *control, options);
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
