// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/calibrated_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/parallel.h"
#include "scenarios/studies/simulate/software.h"

namespace orrery {
namespace {

Result<std::vector<StepResponse>> responses_of(const std::vector<PublishedCase>& cases,
                                               const Validation& validation,
                                               const CalibratedStepsOptions& options) {
    std::map<std::string, const PublishedCase*> by_name;
    for (const PublishedCase& row : cases) {
        by_name.emplace(row.name, &row);
    }
    const Catalogue catalogue{default_catalogue()};
    std::vector<Result<StepResponse>> found(validation.rows.size());
    for_each_index(
        validation.rows.size(),
        options.jobs,
        [&](std::size_t i) {
            const ValidatedCase& row = validation.rows[i];
            found[i] = step_response(*by_name.at(row.name), row, catalogue);
        },
        [&](std::size_t done) {
            options.progress(static_cast<double>(done) /
                             static_cast<double>(validation.rows.size()));
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

// Name of each row's group. A calibration holds for one version of a software on one generation of
// devices.
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

// The calibration fitted on the steps of the first draw. They must be of one software on one
// generation of devices, because the facts of others differ.
Result<std::string> calibration_of(const CalibratedStepsOptions& options,
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
            return fail(options.table,
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
        return fail(options.table, "no step could be simulated", "orrery validate says why not");
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
                    options.table,
                    options.given,
                    options.seed));
}

}  // namespace

Result<CalibratedSteps> calibrate_with_steps(const std::vector<PublishedCase>& cases,
                                             const Validation& validation,
                                             const CalibratedStepsOptions& options) {
    const auto responses = responses_of(cases, validation, options);
    if (!responses) {
        return unexpected<Error>(responses.error());
    }
    CalibratedSteps calibrated{.validation = validate_calibrated(validation.rows,
                                                                 *responses,
                                                                 groups_of(cases, validation),
                                                                 options.given,
                                                                 options.draws,
                                                                 options.seed),
                               .calibration = {}};
    if (options.make_calibration) {
        Result<std::string> text =
            calibration_of(options, cases, validation, *responses, calibrated.validation.drawn);
        if (!text) {
            return unexpected<Error>(text.error());
        }
        calibrated.calibration = std::move(*text);
    }
    return calibrated;
}

}  // namespace orrery
