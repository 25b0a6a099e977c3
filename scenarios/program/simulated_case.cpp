// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/provenance/stored_result.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/calibration_file.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/simulate.h"
#include "scenarios/report/render/terminal.h"

namespace orrery {
namespace {

constexpr const char* kNoFold = "no_fold";

// The scenario of an earlier result and the options that determined it.
ResultOrErrors<SimulatedCase> repeated_case(const SimulateArguments& arguments) {
    const std::string& file = arguments.result_file;
    const auto give_up = [&](std::string what, std::string hint) {
        return unexpected<Errors>(Errors{{file, std::move(what), std::move(hint)}});
    };
    const auto stored = read_stored_result(file);
    if (!stored) {
        return unexpected<Errors>(stored.error());
    }
    if (stored->command != "simulate") {
        return give_up(fmt::format("is a result of orrery {}", stored->command),
                       "--from repeats results of orrery simulate");
    }
    const auto calibrated = std::ranges::find(
        stored->options, kCalibrationOption, [](const auto& option) { return option.first; });
    if (calibrated != stored->options.end() && arguments.calibration_file.empty()) {
        return give_up(fmt::format("was made with the calibration {}", calibrated->second),
                       fmt::format("--calibration {}", calibrated->second));
    }
    const bool profiled = stored->inputs.size() > (calibrated != stored->options.end() ? 1 : 0);
    if (profiled) {
        const InputFile& profile = stored->inputs.front();
        if (arguments.profile_file.empty()) {
            return give_up(fmt::format("was made with the profile {}", profile.file),
                           fmt::format("--profile {}", profile.file));
        }
        if (file_fingerprint(arguments.profile_file) != profile.hash) {
            print_note(fmt::format(
                "{}: {} is not the profile that it was made with", file, arguments.profile_file));
        }
    }
    for (const std::string& sentence : differences_from(*stored)) {
        print_note(fmt::format("{}: {}", file, sentence));
    }
    auto scenario = scenario_of_result(*stored, file, arguments.overrides);
    if (!scenario) {
        return unexpected<Errors>(scenario.error());
    }
    const bool no_fold = std::ranges::any_of(
        stored->options, [](const auto& option) { return option.first == kNoFold; });
    return SimulatedCase{
        .scenario = std::move(*scenario), .source = file, .fold = arguments.fold && !no_fold};
}

}  // namespace

ResultOrErrors<SimulatedCase> simulated_case(const SimulateArguments& arguments) {
    if (arguments.file.empty() == arguments.result_file.empty()) {
        return unexpected<Errors>(
            Errors{{"command line",
                    arguments.file.empty() ? "a scenario file is missing"
                                           : "a scenario file and --from are given",
                    "orrery simulate scenarios/laptop-2gpu.yaml, or --from RESULT.json"}});
    }
    if (arguments.file.empty()) {
        return repeated_case(arguments);
    }
    auto scenario =
        read_scenario(arguments.file, {.overrides = arguments.overrides, .several_jobs = true});
    if (!scenario) {
        return unexpected<Errors>(scenario.error());
    }
    note_old_keys(*scenario);
    return SimulatedCase{
        .scenario = std::move(*scenario), .source = arguments.file, .fold = arguments.fold};
}

Provenance provenance_of(const SimulateArguments& arguments, const SimulatedCase& simulated) {
    Provenance provenance = provenance_of("simulate", simulated.scenario);
    if (!simulated.fold) {
        provenance.add_option(kNoFold, "true");
    }
    provenance.add_input(arguments.profile_file);
    return add_calibration(provenance, arguments.calibration_file);
}

}  // namespace orrery
