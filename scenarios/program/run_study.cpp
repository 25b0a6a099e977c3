// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/run_study.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "scenarios/format/document/output_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/terminal.h"

namespace orrery {
namespace {

struct OpenViews {
    std::unique_ptr<OutputFile> html;
    std::unique_ptr<OutputFile> csv;
};

Result<OpenViews> open_views(const ViewArguments& views) {
    if (!views.trace_file.empty()) {
        if (const auto writable = OutputFile::open(views.trace_file); !writable) {
            return unexpected<Error>(writable.error());
        }
    }
    auto html = OutputFile::open_if_named(views.html_file);
    if (!html) {
        return unexpected<Error>(html.error());
    }
    auto csv = OutputFile::open_if_named(views.csv_file);
    if (!csv) {
        return unexpected<Error>(csv.error());
    }
    return OpenViews{.html = std::move(*html), .csv = std::move(*csv)};
}

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

std::string in_form(const StudyOutput& output, OutputFormat format) {
    switch (format) {
        case OutputFormat::json:
            return with_provenance(output.json, output.provenance);
        case OutputFormat::csv:
            return csv_of(output);
        case OutputFormat::md:
            return to_markdown(output.report);
        case OutputFormat::table:
            break;
    }
    return output.text.empty() ? to_text(output.report) : output.text;
}

int write_and_print(const ViewArguments& views,
                    OutputFormat format,
                    OpenViews& open,
                    const StudyOutput& output) {
    if (!views.trace_file.empty() && output.write_trace) {
        if (const auto written = output.write_trace(views.trace_file); !written) {
            return report_error(written.error());
        }
    }
    if (open.html) {
        const std::string page = output.html.empty() ? to_html(output.report) : output.html;
        const auto written = write_view(
            open.html.get(), views.html_file, page_with_provenance(page, output.provenance));
        if (!written) {
            return report_error(written.error());
        }
    }
    if (const auto written =
            write_view(open.csv.get(), views.csv_file, open.csv ? csv_of(output) : "");
        !written) {
        return report_error(written.error());
    }
    for (const std::string* name : {&views.html_file, &views.csv_file, &views.trace_file}) {
        if (*name == "-") {
            return output.status;
        }
    }
    const int printed = print_output(in_form(output, format));
    return printed == kExitOk ? output.status : printed;
}

}  // namespace

Errors placed(Errors errors, const std::string& source) {
    for (Error& error : errors) {
        error.where = error.where.empty() ? source : error.where;
    }
    return errors;
}

Result<void> check_views(const ViewArguments& views) {
    if (const Result<OutputFormat> format = output_format(views); !format) {
        return unexpected<Error>(format.error());
    }
    const Result<OpenViews> open = open_views(views);
    return open ? Result<void>{} : unexpected<Error>(open.error());
}

int show_output(const ViewArguments& views, const StudyOutput& output) {
    const Result<OutputFormat> format = output_format(views);
    if (!format) {
        return report_error(format.error());
    }
    Result<OpenViews> open = open_views(views);
    return open ? write_and_print(views, *format, *open, output) : report_error(open.error());
}

int run_study(const ViewArguments& views, const StudyRun& run) {
    const Result<OutputFormat> format = output_format(views);
    if (!format) {
        return report_error(format.error());
    }
    Result<OpenViews> open = open_views(views);
    if (!open) {
        return report_error(open.error());
    }
    const auto begin = std::chrono::steady_clock::now();
    ProgressBar bar{run.label};
    const ResultOrErrors<StudyOutput> output = run.study([&bar](double share) { bar.show(share); });
    bar.finish();
    if (!output) {
        return report_errors(placed(output.error(), run.source));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    print_detail(fmt::format("{} {} took {:.2f} s", run.label, run.source, took.count()));
    return write_and_print(views, *format, *open, *output);
}

}  // namespace orrery
