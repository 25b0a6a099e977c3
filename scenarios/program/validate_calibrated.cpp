// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/validate_calibrated.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "engine/parallel.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/calibration_report.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/studies/simulate/software.h"
#include "scenarios/studies/validate/calibration_fit.h"

namespace orrery {
namespace {

Result<std::vector<StepResponse>> responses_of(const std::vector<PublishedCase>& cases,
                                               const Validation& validation,
                                               std::uint32_t jobs) {
    std::map<std::string, const PublishedCase*> by_name;
    for (const PublishedCase& row : cases) {
        by_name.emplace(row.name, &row);
    }
    ProgressBar bar{"changing facts"};
    const Catalogue catalogue{default_catalogue()};
    std::vector<Result<StepResponse>> found(validation.rows.size());
    for_each_index(
        validation.rows.size(),
        jobs,
        [&](std::size_t i) {
            const ValidatedCase& row = validation.rows[i];
            found[i] = step_response(*by_name.at(row.name), row, catalogue);
        },
        [&](std::size_t done) {
            bar.show(static_cast<double>(done) / static_cast<double>(validation.rows.size()));
        });
    std::vector<StepResponse> responses;
    for (Result<StepResponse>& one : found) {
        if (!one) {
            return unexpected<Error>(one.error());
        }
        responses.push_back(std::move(*one));
    }
    return responses;
}

// What a calibration is for: a version of a software on a generation of devices.
std::vector<std::string> groups_of(const std::vector<PublishedCase>& cases,
                                   const Validation& validation) {
    const Catalogue catalogue{default_catalogue()};
    std::map<std::string, std::string> by_name;
    for (const PublishedCase& row : cases) {
        const Result<Scenario> scenario = scenario_of(row, catalogue);
        by_name[row.name] =
            row.stack + " " + (scenario ? scenario->device.generation : std::string{});
    }
    std::vector<std::string> groups;
    for (const ValidatedCase& row : validation.rows) {
        groups.push_back(by_name.at(row.name));
    }
    return groups;
}

// The calibration of the first draw's steps. One software on one generation of devices: its facts
// are not another's.
Result<std::string> calibration_of(const ValidateArguments& arguments,
                                   const std::vector<PublishedCase>& cases,
                                   const Validation& validation,
                                   const std::vector<StepResponse>& responses,
                                   const std::vector<std::string>& drawn) {
    std::vector<const StepResponse*> steps;
    Calibration described;
    const Catalogue catalogue{default_catalogue()};
    for (std::size_t i = 0; i < validation.rows.size(); ++i) {
        const ValidatedCase& row = validation.rows[i];
        if (std::ranges::count(drawn, row.name) == 0) {
            continue;
        }
        const auto of = std::ranges::find(cases, row.name, &PublishedCase::name);
        const Result<Scenario> scenario = scenario_of(*of, catalogue);
        if (!scenario) {
            return unexpected<Error>(scenario.error());
        }
        const std::string precision{dtype_class(scenario->plan.precision)};
        const std::string software = software_of(row.stack);
        const bool first = steps.empty();
        if (!first && (software != described.software ||
                       scenario->device.generation != described.generation)) {
            return fail(arguments.file,
                        fmt::format("the drawn steps are of {} on {} and of {} on {}",
                                    described.software,
                                    described.generation,
                                    software,
                                    scenario->device.generation),
                        "a calibration is of one software and one generation of devices: "
                        "--family NAME, or a table of these steps");
        }
        if (first) {
            described.name = row.family;
            described.software = software;
            described.generation = scenario->device.generation;
            described.precision = precision;
        }
        steps.push_back(&responses[i]);
    }
    if (steps.empty()) {
        return fail(arguments.file, "no step could be simulated", "orrery validate says why not");
    }
    const CalibrationPosterior posterior{steps};
    Calibration facts = posterior.mean();
    facts.name = described.name;
    facts.software = described.software;
    facts.generation = described.generation;
    facts.precision = described.precision;
    for (const StepResponse* step : steps) {
        facts.spread = std::max(facts.spread, posterior.predict(*step).sigma);
    }
    return calibration_text(
        facts,
        fmt::format("Made of {} steps of {} by: orrery validate {} --calibrate-with {} --seed {}",
                    steps.size(),
                    described.name,
                    arguments.file,
                    arguments.calibrate_with,
                    arguments.seed));
}

}  // namespace

int calibrate_with_steps(const ValidateArguments& arguments,
                         const std::vector<PublishedCase>& cases,
                         const Validation& validation,
                         const Provenance& made_of) {
    const auto file = OutputFile::open_if_named(arguments.output);
    if (!file) {
        return report_error(file.error());
    }
    const auto responses = responses_of(cases, validation, arguments.jobs);
    if (!responses) {
        return report_error(responses.error());
    }
    const CalibratedValidation calibrated = validate_calibrated(validation.rows,
                                                                *responses,
                                                                groups_of(cases, validation),
                                                                arguments.calibrate_with,
                                                                arguments.draws,
                                                                arguments.seed);
    if (*file != nullptr) {
        const auto text =
            calibration_of(arguments, cases, validation, *responses, calibrated.drawn);
        if (!text) {
            return report_error(text.error());
        }
        if (const Result<void> written = (*file)->commit(*text); !written) {
            return report_error(written.error());
        }
    }
    const int status = print_output(
        arguments.json ? with_provenance(calibration_json(validation, calibrated), made_of)
                       : calibration_report(calibrated));
    return validation.rows.empty() ? kExitUserError : status;
}

}  // namespace orrery
