// SPDX-License-Identifier: Apache-2.0

#include "scenarios/format/document/output_file.h"
#include "scenarios/format/write/write_plan.h"
#include "scenarios/program/any_scenario.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/search.h"
#include "scenarios/report/serving_report.h"

namespace orrery {
namespace {

ResultOrErrors<StudyOutput> best_pools(const SearchArguments& arguments,
                                       const Scenario& scenario,
                                       const std::function<void(double)>& progress) {
    const auto requests = requests_of(scenario);
    if (!requests) {
        return unexpected<Errors>(requests.error());
    }
    const auto result = search_pools(scenario, *requests, arguments.jobs, progress);
    if (!result) {
        return unexpected<Errors>(Errors{result.error()});
    }
    const std::filesystem::path folder = std::filesystem::path{arguments.file}.parent_path();
    const std::filesystem::path target = std::filesystem::path{arguments.output}.parent_path();
    return StudyOutput{
        .report = pool_search_sections(scenario, *result),
        .json = pool_search_json(scenario, *result),
        .provenance = provenance_of("search", scenario),
        .product = arguments.output.empty()
                       ? ""
                       : scenario_with_pools(
                             *scenario.document, result->best.front().pools, folder, target)};
}

}  // namespace

int search_pools_command(const SearchArguments& arguments) {
    if (arguments.sensitivity || !arguments.calibration_file.empty()) {
        return report_error({arguments.file,
                             "--sensitivity and --calibration are for plans of a training",
                             "leave them out"});
    }
    const ResultOrErrors<Scenario> scenario = read_served_load(arguments.file, arguments.overrides);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    note_faults_left_out(*scenario, FaultUser::serving);
    return run_study(
        arguments, arguments.file, "searching", [&](const std::function<void(double)>& progress) {
            return best_pools(arguments, *scenario, progress);
        });
}

}  // namespace orrery
