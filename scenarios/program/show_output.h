// SPDX-License-Identifier: Apache-2.0
// Shows an answer in the forms that were asked for: the one renderer of all commands.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/base/result.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/program/views.h"
#include "scenarios/report/render/report.h"

namespace orrery {

// An answer, ready to be shown.
struct StudyOutput {
    Report report;
    std::string json;  // one object, without its provenance; empty: the report's
    Provenance provenance;
    std::string text{};     // the table form; empty: the report's
    std::string html{};     // the page; empty: the report's
    std::string csv{};      // empty: the report's
    std::string product{};  // what ViewArguments::output gets
    // Writes the trace to a file; empty: the study has written it.
    std::function<Result<void>(const std::string& file)> write_trace{};
    int status = 0;  // of the command, if all was written
};

// The form on standard output, and the open files of the product and the views.
struct OpenViews {
    OutputFormat format = OutputFormat::table;
    std::unique_ptr<OutputFile> product{};
    std::unique_ptr<OutputFile> html{};
    std::unique_ptr<OutputFile> csv{};
};

// Before the work, so that an unknown form or an unwritable place is reported at once.
Result<OpenViews> open_views(const ViewArguments& views);

// Writes product and views and prints the answer. A file that is named "-" is standard output,
// which then has nothing else. Returns the exit status.
int show_output(const ViewArguments& views, OpenViews& open, const StudyOutput& output);
// Of work that is done: opens the files, too.
int show_output(const ViewArguments& views, const StudyOutput& output);

}  // namespace orrery
