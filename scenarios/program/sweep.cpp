// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/render/json_report.h"
#include "scenarios/report/render/progress.h"
#include "scenarios/report/render/terminal.h"
#include "scenarios/studies/sweep/sweep.h"

namespace orrery {
namespace {

// A shard's results have its number in their name, so that shards can share a folder.
std::string results_name(const SweepArguments& arguments, const Shard& shard) {
    if (!arguments.results.empty()) {
        return arguments.results;
    }
    const bool piped = arguments.file == "-";
    const std::string stem =
        piped ? "study" : std::filesystem::path{arguments.file}.stem().string();
    return shard.of == 1 ? stem + ".sqlite"
                         : fmt::format("{}.{}-of-{}.sqlite", stem, shard.number, shard.of);
}

Result<void> views_can_be_written(const SweepArguments& arguments) {
    const auto open = open_views(arguments);
    return open ? Result<void>{} : unexpected<Error>(open.error());
}

}  // namespace

int sweep_command(const SweepArguments& arguments) {
    const ResultOrErrors<Study> study = read_study(arguments.file, unread_in_study);
    if (!study) {
        return report_errors(study.error());
    }
    const Result<Shard> shard =
        arguments.shard.empty() ? shard_of_environment() : parse_shard(arguments.shard);
    if (!shard) {
        return report_error(shard.error());
    }
    const auto mpi = MpiWorld::join();
    if (!mpi) {
        return report_error(mpi.error());
    }
    const bool leader = *mpi == nullptr || (*mpi)->rank() == 0;
    const Result<void> views = leader ? views_can_be_written(arguments) : Result<void>{};
    const bool well = views.has_value();
    const bool all_well = *mpi == nullptr ? well : (*mpi)->all_well(well);
    if (!well) {
        return report_error(views.error());
    }
    if (!all_well) {
        return kExitUserError;  // rank 0 reports it
    }
    if (leader) {
        note_faults_of_study(*study);
    }
    ProgressBar bar{"sweeping"};
    SweepOptions options{.results = results_name(arguments, *shard), .shard = *shard};
    options.text = [](const Answer& answer, const Provenance& provenance) {
        return with_provenance(json_report(answer), provenance);
    };
    options.jobs =
        arguments.jobs > 0 ? arguments.jobs : std::max(1U, std::thread::hardware_concurrency());
    if (leader) {
        options.progress = [&bar](double share) { bar.show(share); };
    }
    std::error_code ignored;
    const bool was_there = std::filesystem::exists(options.results, ignored);
    const auto outcome = sweep(*study, options, mpi->get());
    bar.finish();
    if (!outcome) {
        return report_error(outcome.error());
    }
    if (*outcome && (*outcome)->outdated > 0) {
        print_note(
            fmt::format("{}: another build of Orrery had finished {} of the points; they "
                        "were run again",
                        options.results.string(),
                        (*outcome)->outdated));
    }
    // An invalid study leaves no results. The parts of a divided study remain for orrery merge.
    if (*outcome && !was_there && shard->of == 1 && no_answers(**outcome)) {
        remove_results(options.results);
    }
    return *outcome ? show_outcome(arguments, *study, **outcome) : kExitOk;
}

Command describe_sweep() {
    const auto arguments = std::make_shared<SweepArguments>();
    return {
        .name = "sweep",
        .group = CommandGroup::predict,
        .help = "Simulate the points of a study that have no result yet; can be stopped any time",
        .options = sweep_options(*arguments),
        .examples = {"sweep scenarios/sweep-70b-plans.yaml",
                     "sweep scenarios/sweep-70b-plans.yaml --shard 1/4 --csv first.csv"},
        .run = [arguments] { return sweep_command(*arguments); },
    };
}

}  // namespace orrery
