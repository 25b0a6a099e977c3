// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/format/read/reader.h"
#include "scenarios/format/write/write_plan.h"
#include "scenarios/program/calibration_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/interruption.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/search.h"
#include "scenarios/report/render/progress.h"
#include "scenarios/report/render/terminal.h"
#include "scenarios/report/search_report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/search/search.h"

namespace orrery {
namespace {

std::string winner_of(const SearchArguments& arguments,
                      const Scenario& scenario,
                      const FoundPlan& best) {
    return scenario_with_plan(*scenario.document,
                              best.plan,
                              scenario.search.clusters[best.cluster].overrides,
                              std::filesystem::path{arguments.file}.parent_path(),
                              std::filesystem::path{arguments.output}.parent_path());
}

StudyOutput output_of(const SearchArguments& arguments,
                      const Scenario& scenario,
                      const SearchResult& result,
                      const std::vector<SensitiveFigure>& figures,
                      bool interrupted) {
    Provenance provenance = provenance_of("search", scenario);
    if (arguments.sensitivity) {
        provenance.add_option("sensitivity", "true");
    }
    add_calibration(provenance, arguments.calibration_file);
    return {.report = search_sections(scenario, result, figures),
            .json = search_json(scenario, result, figures),
            .provenance = std::move(provenance),
            .product =
                arguments.output.empty() ? "" : winner_of(arguments, scenario, result.best.front()),
            .status = interrupted ? kExitInterrupted : kExitOk};
}

ResultOrErrors<StudyOutput> search_output(const SearchArguments& arguments,
                                          const Scenario& scenario,
                                          Interruption& interruption,
                                          const std::function<void(double)>& progress) {
    auto table = calibrated_step_table(arguments.calibration_file, &scenario);
    if (!table) {
        return unexpected<Errors>(table.error());
    }
    SearchOptions how{.jobs = arguments.jobs, .step_table = *table};
    how.progress = [&, listed = false](const SearchProgress& done) mutable {
        if (!std::exchange(listed, true)) {
            print_detail("the plans are listed; the best of them are simulated");
        }
        progress(static_cast<double>(done.simulated) /
                 static_cast<double>(scenario.search.simulations));
    };
    how.stop = [&] { return interruption.come(); };
    const Result<SearchResult> result = search_plans(scenario, scenario.search, how);
    if (!result) {
        Error error = result.error();
        error.where = error.where.empty() ? arguments.file : arguments.file + ": " + error.where;
        return unexpected<Errors>(Errors{std::move(error)});
    }
    bool interrupted = result->interrupted;
    Result<std::vector<SensitiveFigure>> figures{std::vector<SensitiveFigure>{}};
    if (arguments.sensitivity && !interrupted) {
        ProgressBar bar{"changing figures"};
        SensitivityOptions options{.jobs = arguments.jobs};
        options.step_table = std::move(*table);
        options.progress = [&bar](double share) { bar.show(share); };
        options.stop = [&] { return interrupted = interrupted || interruption.come(); };
        figures = sensitivity(scenario, scenario.search, *result, options);
    }
    return figures ? output_of(arguments, scenario, *result, *figures, interrupted)
                   : ResultOrErrors<StudyOutput>{unexpected<Errors>(Errors{figures.error()})};
}

}  // namespace

int search_plans_command(const SearchArguments& arguments) {
    ResultOrErrors<Scenario> scenario =
        read_scenario(arguments.file, {.overrides = arguments.overrides});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (scenario->network == NetworkFidelity::packet) {
        return report_error({arguments.file,
                             "network: packet is for one step, not for a search among plans",
                             "fluid, with network.congestion: what packets measured"});
    }
    note_faults_left_out(*scenario,
                         scenario->search.objective == Objective::goodput
                             ? FaultUser::search_goodput
                             : FaultUser::search);
    if (scenario->search.clusters.empty()) {
        scenario->search.clusters.push_back({.cluster = scenario->cluster,
                                             .device = scenario->device,
                                             .devices = scenario->devices});
    }
    Interruption interruption;
    const auto study = [&](const std::function<void(double)>& progress) {
        return search_output(arguments, *scenario, interruption, progress);
    };
    const int status = run_study(arguments, arguments.file, "searching", study);
    return status == kExitUserError && interruption.come() ? kExitInterrupted : status;
}

}  // namespace orrery
