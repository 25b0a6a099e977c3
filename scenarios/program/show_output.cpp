// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/show_output.h"

#include <utility>

#include "scenarios/program/exit_status.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/terminal.h"

namespace orrery {
namespace {

Result<void> write_view(OutputFile* file, const std::string& name, const std::string& text) {
    if (file == nullptr) {
        return {};
    }
    print_detail("wrote " + name);
    return file->commit(text);
}

std::string csv_of(const StudyOutput& output) {
    return output.csv.empty() ? to_csv(output.report) : output.csv;
}

std::string page_of(const StudyOutput& output) {
    return page_with_provenance(output.html.empty() ? to_html(output.report) : output.html,
                                output.provenance);
}

std::string in_form(const StudyOutput& output, OutputFormat format) {
    switch (format) {
        case OutputFormat::json:
            return with_provenance(output.json.empty() ? to_json(output.report) : output.json,
                                   output.provenance);
        case OutputFormat::csv:
            return csv_of(output);
        case OutputFormat::md:
            return to_markdown(output.report);
        case OutputFormat::table:
            break;
    }
    return output.text.empty() ? to_text(output.report) : output.text;
}

Result<void> write_files(const ViewArguments& views, OpenViews& open, const StudyOutput& output) {
    Result<void> written = write_view(open.product.get(), views.output, output.product);
    if (written && !views.trace_file.empty() && output.write_trace) {
        written = output.write_trace(views.trace_file);
    }
    if (written && open.html) {
        written = write_view(open.html.get(), views.html_file, page_of(output));
    }
    if (written && open.csv) {
        written = write_view(open.csv.get(), views.csv_file, csv_of(output));
    }
    return written;
}

}  // namespace

Result<OpenViews> open_views(const ViewArguments& views) {
    const Result<OutputFormat> format = output_format(views);
    if (!format) {
        return unexpected<Error>(format.error());
    }
    if (const Result<void> once = check_standard_output(views); !once) {
        return unexpected<Error>(once.error());
    }
    if (!views.trace_file.empty()) {
        if (const auto writable = OutputFile::open(views.trace_file); !writable) {
            return unexpected<Error>(writable.error());
        }
    }
    OpenViews open{.format = *format};
    for (const auto& [file, name] : {std::pair{&open.product, &views.output},
                                     {&open.html, &views.html_file},
                                     {&open.csv, &views.csv_file}}) {
        auto opened = OutputFile::open_if_named(*name);
        if (!opened) {
            return unexpected<Error>(opened.error());
        }
        *file = std::move(*opened);
    }
    return open;
}

int show_output(const ViewArguments& views, OpenViews& open, const StudyOutput& output) {
    if (const Result<void> written = write_files(views, open, output); !written) {
        return report_error(written.error());
    }
    if (!options_to_standard_output(views).empty()) {
        return output.status;
    }
    const int printed = print_output(in_form(output, open.format));
    return printed == kExitOk ? output.status : printed;
}

int show_output(const ViewArguments& views, const StudyOutput& output) {
    Result<OpenViews> open = open_views(views);
    return open ? show_output(views, *open, output) : report_error(open.error());
}

}  // namespace orrery
