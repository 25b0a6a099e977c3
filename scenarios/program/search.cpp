// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/search.h"

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/supervisor/stop_signals.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/format/write/write_plan.h"
#include "scenarios/program/any_scenario.h"
#include "scenarios/program/calibration_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/search_fit.h"
#include "scenarios/program/search_pools.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/search_report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/search/search.h"

namespace orrery {
namespace {

Result<void> write_winner(OutputFile& file,
                          const std::filesystem::path& name,
                          const std::filesystem::path& scenario_file,
                          const Scenario& scenario,
                          const FoundPlan& best) {
    const ClusterVariant& cluster = scenario.search.clusters[best.cluster];
    file.stream() << scenario_with_plan(*scenario.document,
                                        best.plan,
                                        cluster.overrides,
                                        scenario_file.parent_path(),
                                        name.parent_path());
    return file.commit();
}

Result<std::vector<SensitiveFigure>> ask_sensitivity(const SearchArguments& arguments,
                                                     const Scenario& scenario,
                                                     const SearchResult& result) {
    if (!arguments.sensitivity || result.interrupted) {
        return std::vector<SensitiveFigure>{};
    }
    ProgressBar bar{"changing figures"};
    auto table = calibrated_step_table(arguments.calibration_file);
    if (!table) {
        return tl::unexpected(table.error().front());
    }
    SensitivityOptions options{.jobs = arguments.jobs};
    options.step_table = std::move(*table);
    options.progress = [&bar](double share) { bar.show(share); };
    return sensitivity(scenario, scenario.search, result, options);
}

// The first SIGINT, SIGTERM or SIGHUP ends the search with what it has found, another one the
// process.
class InterruptedByUser {
public:
    bool come() {
        if (!come_ && !signals_) {
            signals_.emplace();
        }
        if (signals_ && signals_->pending() != 0) {
            come_ = true;
            signals_.reset();
            fmt::print(stderr, "interrupted: the best plan so far follows; again to end at once\n");
        }
        return come_;
    }

private:
    std::optional<StopSignals> signals_;
    bool come_ = false;
};

StudyOutput output_of(const SearchArguments& arguments,
                      const Scenario& scenario,
                      const SearchResult& result,
                      const std::vector<SensitiveFigure>& figures) {
    Provenance provenance = provenance_of("search", scenario);
    if (arguments.sensitivity) {
        provenance.add_option("sensitivity", "true");
    }
    add_calibration(provenance, arguments.calibration_file);
    std::string text = search_report(scenario, result);
    if (!figures.empty()) {
        text += sensitivity_report(figures, SensitivityOptions{}.factor);
    }
    return {.report = search_sections(scenario, result, figures),
            .json = search_json(scenario, result, figures),
            .provenance = std::move(provenance),
            .text = std::move(text),
            .status = result.interrupted ? kExitInterrupted : kExitOk};
}

// Searches, and writes the winner as a scenario where `file` is open.
ResultOrErrors<StudyOutput> search_output(const SearchArguments& arguments,
                                          const Scenario& scenario,
                                          OutputFile* file,
                                          InterruptedByUser& interruption,
                                          const std::function<void(double)>& progress) {
    auto table = calibrated_step_table(arguments.calibration_file, &scenario);
    if (!table) {
        return unexpected<Errors>(table.error());
    }
    const auto most = static_cast<double>(scenario.search.simulations);
    const SearchOptions how{.jobs = arguments.jobs,
                            .progress =
                                [&](const SearchProgress& done) {
                                    progress(static_cast<double>(done.simulated) / most);
                                },
                            .stop = [&] { return interruption.come(); },
                            .step_table = std::move(*table)};
    const Result<SearchResult> result = search_plans(scenario, scenario.search, how);
    if (!result) {
        Error error = result.error();
        error.where = error.where.empty() ? arguments.file : arguments.file + ": " + error.where;
        return unexpected<Errors>(Errors{std::move(error)});
    }
    if (file != nullptr) {
        const Result<void> written = write_winner(
            *file, arguments.write_file, arguments.file, scenario, result->best.front());
        if (!written) {
            return unexpected<Errors>(Errors{written.error()});
        }
    }
    const auto figures = ask_sensitivity(arguments, scenario, *result);
    if (!figures) {
        return unexpected<Errors>(Errors{figures.error()});
    }
    return output_of(arguments, scenario, *result, *figures);
}

}  // namespace

int search_command(const SearchArguments& arguments) {
    if (!arguments.fit.empty()) {
        return search_fit_command(arguments);
    }
    if (is_served_load(arguments.file)) {
        return search_pools_command(arguments);
    }
    ReadOptions read;
    read.overrides = arguments.overrides;
    ResultOrErrors<Scenario> scenario = read_scenario(arguments.file, read);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (scenario->network == NetworkFidelity::packet) {
        return report_error({arguments.file,
                             "network: packet is for one step, not for a search among plans",
                             "fluid, with network.congestion: what packets measured"});
    }
    const bool goodput = scenario->search.objective == Objective::goodput;
    note_faults_left_out(*scenario, goodput ? FaultUser::search_goodput : FaultUser::search);
    if (scenario->search.clusters.empty()) {
        scenario->search.clusters.push_back({.cluster = scenario->cluster,
                                             .device = scenario->device,
                                             .devices = scenario->devices});
    }
    const auto file = OutputFile::open_if_named(arguments.write_file);
    if (!file) {
        return report_error(file.error());
    }
    InterruptedByUser interruption;
    const int status = run_study(
        arguments,
        {.source = arguments.file, .label = "searching", .study = [&](const auto& progress) {
             return search_output(arguments, *scenario, file->get(), interruption, progress);
         }});
    return status == kExitUserError && interruption.come() ? kExitInterrupted : status;
}

Command describe_search() {
    const auto arguments = std::make_shared<SearchArguments>();
    return {
        .name = "search",
        .help = "Find the best plan on one or several clusters, or the best pools of a served load",
        .options = joined(
            {{scenario_option(arguments->file),
              override_option(arguments->overrides),
              jobs_option(arguments->jobs),
              calibration_option(arguments->calibration_file),
              output_option(arguments->write_file,
                            "Write the best plan as a scenario that simulate and train accept"),
              {"--sensitivity",
               &arguments->sensitivity,
               "Say which figures of the catalogue the answer hinges on"},
              {"--fit",
               &arguments->fit,
               "Instead: the longest sequence, or the most layers, that the plan holds in memory, "
               "or the most layers by where state lies",
               "sequence|layers|tiers"},
              old_option("--write", "--output", output_option(arguments->write_file, ""))},
             view_options(*arguments,
                          {.html = kPageHelp, .csv = "Write the best plans as a table"})}),
        .examples = {"search scenarios/search-175b-1024-a100.yaml",
                     "search scenarios/llama3-70b-h100.yaml -o best.yaml",
                     "search scenarios/serving/llama3-70b-search.yaml",
                     "search scenarios/alst-llama3-8b-h100.yaml --fit sequence",
                     "search scenarios/llama3-8b-h100.yaml --set "
                     "search.micro_batch_size=[1,2,4]"},
        .run = [arguments] { return search_command(*arguments); },
    };
}

}  // namespace orrery
