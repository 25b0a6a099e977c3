// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/program/calibration_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/row_families.h"
#include "scenarios/program/validate.h"
#include "scenarios/report/render/json_report.h"
#include "scenarios/report/validation_report.h"
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

// The rows of a table of steps, of either kind.
struct StepRows {
    std::vector<PublishedCase> cases;
    std::vector<MeasuredRun> runs;
};

ResultOrErrors<StepRows> read_steps(const ValidateArguments& arguments) {
    StepRows rows;
    const bool own = is_run_table(arguments.file);
    if (own && (!arguments.assume.empty() || arguments.calibrate_with > 0)) {
        return unexpected<Errors>(
            Errors{{arguments.file,
                    "--assume and --calibrate-with take a table with the columns of published "
                    "cases",
                    "`orrery import log` makes one from a training's log"}});
    }
    const auto read = [&](auto all, auto& chosen) -> Errors {
        if (!all) {
            return all.error();
        }
        auto of_families = rows_of_families(arguments, std::move(*all));
        if (!of_families) {
            return {of_families.error()};
        }
        chosen = std::move(*of_families);
        return {};
    };
    Errors errors = own ? read(read_measured_runs(arguments.file), rows.runs)
                        : read(cases_of(arguments), rows.cases);
    return errors.empty() ? ResultOrErrors<StepRows>{std::move(rows)}
                          : unexpected<Errors>(std::move(errors));
}

}  // namespace

ResultOrErrors<StudyOutput> validate_step_table(const ValidateArguments& arguments,
                                                const std::function<void(double)>& progress) {
    const auto rows = read_steps(arguments);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    const std::filesystem::path root = default_catalogue();
    const ResultOrErrors<Control> control = fitted_control(root);
    if (!control) {
        return unexpected<Errors>(control.error());
    }
    const auto table = calibrated_step_table(arguments.calibration_file);
    if (!table) {
        return unexpected<Errors>(table.error());
    }
    const StepValidationOptions options{
        .catalogue = root, .step_table = *table, .jobs = arguments.jobs, .progress = progress};
    Validation validation = rows->runs.empty() ? validate_steps(rows->cases, *control, options)
                                               : validate_runs(rows->runs, *control, options);
    validation.assumed_instead = arguments.assume;
    summarise_families(validation);
    const int status = validation.rows.empty() ? kExitUserError : kExitOk;
    if (arguments.calibrate_with == 0) {
        return StudyOutput{.report = validation_sections(validation),
                           .json = json_report(validation),
                           .provenance = {},
                           .status = status};
    }
    auto output = calibrated_output(arguments, rows->cases, validation, progress);
    if (output) {
        output->status = status;
    }
    return output;
}

}  // namespace orrery
