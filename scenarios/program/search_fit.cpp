// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/search.h"
#include "scenarios/report/search_report.h"

namespace orrery {
namespace {

std::optional<FitOf> fit_called(std::string_view word) {
    return word == "sequence" ? std::optional{FitOf::sequence}
           : word == "layers" ? std::optional{FitOf::layers}
                              : std::nullopt;
}

constexpr std::string_view kTiers = "tiers";
constexpr std::string_view kRecompute = "recompute";

ResultOrErrors<StudyOutput> recompute_output(const Scenario& scenario) {
    const Result<LayerPlan> plan = plan_layers(scenario);
    if (!plan) {
        return unexpected<Errors>(Errors{plan.error()});
    }
    return StudyOutput{.report = layer_plan_sections(scenario, *plan),
                       .json = layer_plan_json(scenario, *plan),
                       .provenance = provenance_of("search", scenario)};
}

}  // namespace

int search_fit_command(const SearchArguments& arguments) {
    const std::optional<FitOf> what = fit_called(arguments.fit);
    if (!what && arguments.fit != kTiers && arguments.fit != kRecompute) {
        return report_error({"--fit",
                             fmt::format("'{}' is nothing that may fit", arguments.fit),
                             "sequence, layers, tiers or recompute"});
    }
    if (arguments.sensitivity || !arguments.output.empty() || !arguments.calibration_file.empty()) {
        return report_error({arguments.file,
                             "--fit asks what fits into memory, and searches no plan",
                             "leave out --sensitivity, --calibration and --output"});
    }
    const ResultOrErrors<Scenario> scenario =
        read_scenario(arguments.file, {.overrides = arguments.overrides});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    return run_study(arguments,
                     arguments.file,
                     "fitting",
                     [&](const std::function<void(double)>&) -> ResultOrErrors<StudyOutput> {
                         if (arguments.fit == kRecompute) {
                             return recompute_output(*scenario);
                         }
                         if (!what) {
                             const std::vector<TierFit> fits = layers_by_tier(*scenario);
                             return StudyOutput{.report = tier_sections(*scenario, fits),
                                                .json = tier_json(*scenario, fits),
                                                .provenance = provenance_of("search", *scenario)};
                         }
                         const Result<LargestFit> fit = largest_fit(*scenario, *what);
                         if (!fit) {
                             return unexpected<Errors>(Errors{fit.error()});
                         }
                         return StudyOutput{.report = fit_sections(*scenario, *what, *fit),
                                            .json = fit_json(*scenario, *what, *fit),
                                            .provenance = provenance_of("search", *scenario)};
                     });
}

}  // namespace orrery
