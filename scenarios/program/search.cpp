// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/search.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "runtime/supervisor/stop_signals.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/format/write/write_plan.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/page_file.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/search_report.h"
#include "scenarios/report/study_pages.h"
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
    SensitivityOptions options{.jobs = arguments.jobs};
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

// The page, and then the JSON or the report.
int print_search(const SearchArguments& arguments,
                 const Scenario& scenario,
                 const SearchResult& result,
                 const std::vector<SensitiveFigure>& figures,
                 PageFile& page) {
    Provenance provenance = provenance_of("search", scenario);
    if (arguments.sensitivity) {
        provenance.add_option("sensitivity", "true");
    }
    if (page.wanted()) {
        const auto drawn = page.write(search_page(scenario, result, figures), provenance);
        if (!drawn) {
            return report_error(drawn.error());
        }
    }
    if (arguments.json) {
        return print_output(with_provenance(search_json(scenario, result, figures), provenance));
    }
    return print_output(
        search_report(scenario, result) +
        (figures.empty() ? "" : sensitivity_report(figures, SensitivityOptions{}.factor)));
}

}  // namespace

int search_command(const SearchArguments& arguments) {
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
    std::unique_ptr<OutputFile> file;
    if (!arguments.write_file.empty()) {
        auto opened = OutputFile::open(arguments.write_file);
        if (!opened) {
            return report_error(opened.error());
        }
        file = std::move(*opened);
    }
    auto page = PageFile::open(arguments.html_file);
    if (!page) {
        return report_error(page.error());
    }
    ProgressBar bar{"searching"};
    const auto most = static_cast<double>(scenario->search.simulations);
    InterruptedByUser interruption;
    const SearchOptions how{.jobs = arguments.jobs,
                            .progress =
                                [&](const SearchProgress& progress) {
                                    bar.show(static_cast<double>(progress.simulated) / most);
                                },
                            .stop = [&] { return interruption.come(); }};
    const Result<SearchResult> result = search_plans(*scenario, scenario->search, how);
    bar.finish();
    if (!result) {
        Error error = result.error();
        error.where = error.where.empty() ? arguments.file : arguments.file + ": " + error.where;
        const int status = report_error(error);
        return interruption.come() ? kExitInterrupted : status;
    }
    if (file) {
        const Result<void> written = write_winner(
            *file, arguments.write_file, arguments.file, *scenario, result->best.front());
        if (!written) {
            return report_error(written.error());
        }
    }
    const auto figures = ask_sensitivity(arguments, *scenario, *result);
    if (!figures) {
        return report_error(figures.error());
    }
    const int status = print_search(arguments, *scenario, *result, *figures, *page);
    return status == kExitOk && result->interrupted ? kExitInterrupted : status;
}

Command describe_search() {
    const auto arguments = std::make_shared<SearchArguments>();
    return {
        .name = "search",
        .help = "Find the best plan on one or several clusters; Ctrl-C: the best so far",
        .options = {{"file", &arguments->file, "Scenario file (YAML)", "FILE", true},
                    override_option(arguments->overrides),
                    {"--html", &arguments->html_file, "Write a page with pictures", "FILE"},
                    jobs_option(arguments->jobs),
                    {"--json", &arguments->json, "Print one JSON object instead of a report"},
                    {"--sensitivity",
                     &arguments->sensitivity,
                     "Say which figures of the catalogue the answer hinges on"},
                    {"--write",
                     &arguments->write_file,
                     "Write the best plan as a scenario that simulate and train accept",
                     "FILE"}},
        .examples = {"search scenarios/search-175b-1024-a100.yaml",
                     "search scenarios/llama3-70b-h100.yaml --write best.yaml",
                     "search scenarios/llama3-8b-h100.yaml --set "
                     "search.micro_batch_size=[1,2,4]"},
        .run = [arguments] { return search_command(*arguments); },
    };
}

}  // namespace orrery
