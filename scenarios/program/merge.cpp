// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/merge.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "scenarios/program/common_options.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/report/sweep_report.h"
#include "scenarios/studies/sweep/results_file.h"
#include "scenarios/studies/sweep/sweep.h"

namespace orrery {
namespace {

ResultOrErrors<StudyOutput> merge_output(const MergeArguments& arguments) {
    const auto give_up = [](const Error& error) { return unexpected<Errors>(Errors{error}); };
    const auto added =
        merge_results({arguments.files.begin(), arguments.files.end()}, arguments.results);
    if (!added) {
        return give_up(added.error());
    }
    auto file = ResultsFile::open(arguments.results, ResultsFile::Access::read);
    if (!file) {
        return give_up(file.error());
    }
    SweepOutcome outcome;
    const Result<void> read =
        (*file)->for_each([&](const PointResult& point) { outcome.results.push_back(point); });
    if (!read) {
        return give_up(read.error());
    }
    const std::string name = std::filesystem::path{arguments.results}.stem().string();
    return StudyOutput{
        .report = sweep_sections(name, outcome),
        .json = sweep_json(name, outcome),
        .provenance = provenance_of("merge"),
        .text = fmt::format(
            "{}: {} points, {} of them new\n", arguments.results, outcome.results.size(), *added),
        .csv = sweep_csv(outcome.results)};
}

}  // namespace

int merge_command(const MergeArguments& arguments) {
    return run_study(arguments, arguments.results, "merging", [&](const auto&) {
        return merge_output(arguments);
    });
}

Command describe_merge() {
    const auto arguments = std::make_shared<MergeArguments>();
    return {
        .name = "merge",
        .group = CommandGroup::predict,
        .help = "Join the results of a sweep's shards in one file",
        .options = joined(
            {{{"files", &arguments->files, "Results of orrery sweep", "FILE", true},
              {"-o,--output",
               &arguments->results,
               "Results to write (SQLite); points that it has already are kept",
               "FILE",
               true}},
             view_options(*arguments, {.html = kPageHelp, .csv = "Write all points as a table"})}),
        .examples = {"merge study.1-of-2.sqlite study.2-of-2.sqlite -o study.sqlite"},
        .run = [arguments] { return merge_command(*arguments); },
    };
}

}  // namespace orrery
