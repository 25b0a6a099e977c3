// SPDX-License-Identifier: Apache-2.0
// Shows an answer in the requested forms. All commands use this renderer.
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
    std::string json;  // one object, without its provenance; empty: made from the report
    Provenance provenance;
    std::string text{};     // the table form; empty: made from the report
    std::string html{};     // the page; empty: made from the report
    std::string csv{};      // empty: made from the report
    std::string product{};  // content of ViewArguments::output
    // Writes the trace to a file. Empty if the study has written it.
    std::function<Result<void>(const std::string& file)> write_trace{};
    int status = 0;  // exit status, if everything was written
};

// The form for standard output, and the open files of the product and the views.
struct OpenViews {
    OutputFormat format = OutputFormat::table;
    std::unique_ptr<OutputFile> product{};
    std::unique_ptr<OutputFile> html{};
    std::unique_ptr<OutputFile> csv{};
};

// Called before the work, so that an unknown form or an unwritable file is reported at once.
Result<OpenViews> open_views(const ViewArguments& views);

// Writes product and views and prints the answer. A file named "-" is standard output, on which
// nothing else is then written. Returns the exit status.
int show_output(const ViewArguments& views, OpenViews& open, const StudyOutput& output);
// For finished work: opens the files, too.
int show_output(const ViewArguments& views, const StudyOutput& output);

}  // namespace orrery
