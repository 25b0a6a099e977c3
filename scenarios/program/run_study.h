// SPDX-License-Identifier: Apache-2.0
// What every command with an answer does around its study. It opens the files of the views before
// the work, so that an unwritable place is reported at once. It shows a progress bar, reports
// errors with their place, writes the views, and prints the answer in the requested form.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/result.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/program/common_options.h"
#include "scenarios/report/report.h"

namespace orrery {

// An answer, ready to be shown.
struct StudyOutput {
    Report report;
    std::string json;  // one object, without its provenance
    Provenance provenance;
    std::string text{};  // the table form; empty: the report's
    std::string html{};  // the page; empty: the report's
    std::string csv{};   // empty: the report's
    // Writes the trace to a file; empty: the study has written it.
    std::function<Result<void>(const std::string& file)> write_trace{};
    int status = 0;  // of the command, if all was written
};

struct StudyRun {
    std::string source;  // the place of errors that have none: the scenario's file
    std::string label;   // of the progress bar: "simulating"
    // The study itself; it calls `progress` with the share that is done.
    std::function<ResultOrErrors<StudyOutput>(const std::function<void(double)>& progress)> study;
};

// Returns the exit status.
int run_study(const ViewArguments& views, const StudyRun& run);

// Writes the views of an answer and prints it; files that are named "-" are standard output, which
// then has nothing else.
int show_output(const ViewArguments& views, const StudyOutput& output);

// Whether the form is known and the files of the views can be written.
Result<void> check_views(const ViewArguments& views);

// Errors without a place are of `source`.
Errors placed(Errors errors, const std::string& source);

}  // namespace orrery
