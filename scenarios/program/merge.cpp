// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/merge.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/format/document/output_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/sweep_report.h"
#include "scenarios/studies/sweep/results_file.h"
#include "scenarios/studies/sweep/sweep.h"

namespace orrery {

int merge_command(const MergeArguments& arguments) {
    const auto csv = OutputFile::open_if_named(arguments.csv_file);
    if (!csv) {
        return report_error(csv.error());
    }
    const auto added =
        merge_results({arguments.files.begin(), arguments.files.end()}, arguments.output);
    if (!added) {
        return report_error(added.error());
    }
    auto file = ResultsFile::open(arguments.output, ResultsFile::Access::read);
    if (!file) {
        return report_error(file.error());
    }
    std::vector<PointResult> results;
    const Result<void> read =
        (*file)->for_each([&](const PointResult& point) { results.push_back(point); });
    if (!read) {
        return report_error(read.error());
    }
    const Result<void> written = *csv ? (*csv)->commit(sweep_csv(results)) : Result<void>{};
    if (!written) {
        return report_error(written.error());
    }
    return print_output(
        fmt::format("{}: {} points, {} of them new\n", arguments.output, results.size(), *added));
}

Command describe_merge() {
    const auto arguments = std::make_shared<MergeArguments>();
    return {
        .name = "merge",
        .help = "Join the results of a sweep's shards in one file",
        .options = {{"files", &arguments->files, "Results of orrery sweep", "FILE", true},
                    {"-o,--output",
                     &arguments->output,
                     "Results to write (SQLite); points that it has already are kept",
                     "FILE",
                     true},
                    {"--csv", &arguments->csv_file, "Write all points as a table", "FILE"}},
        .examples = {"merge study.1-of-2.sqlite study.2-of-2.sqlite -o study.sqlite"},
        .run = [arguments] { return merge_command(*arguments); },
    };
}

}  // namespace orrery
