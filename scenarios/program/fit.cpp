// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/fit.h"

#include <memory>

#include "scenarios/format/document/output_file.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/fit_report.h"

namespace orrery {
namespace {

// Prints the report, and the table where no file is named for it.
int show_fit(OutputFile* file, const Report& report, const std::string& csv) {
    const std::string text = to_text(report);
    if (file == nullptr) {
        return print_output(text + "\n" + csv);
    }
    const Result<void> written = file->commit(csv);
    return written ? print_output(text) : report_error(written.error());
}

}  // namespace

int fit_command(const FitSpec& spec) {
    // An unwritable place is reported before the work.
    const auto file = OutputFile::open_if_named(spec.output);
    if (!file) {
        return report_error(file.error());
    }
    if (spec.kernels) {
        const auto fit = fit_kernels(spec);
        return fit ? show_fit(file->get(), kernel_fit_sections(*fit), kernel_efficiency_csv(*fit))
                   : report_errors(fit.error());
    }
    const auto fitted = fit_steps(spec);
    return fitted ? show_fit(file->get(), step_fit_sections(*fitted), fitted->csv)
                  : report_errors(fitted.error());
}

Command describe_fit() {
    const auto spec = std::make_shared<FitSpec>();
    return {
        .name = "fit",
        .help = "Fit the catalogue's general factors of a training step, or its kernel times",
        .options = {{"cases",
                     &spec->file,
                     "Table of measured steps (CSV); with --kernels of kernels, if not the "
                     "catalogue's",
                     "FILE"},
                    {"--kernels",
                     &spec->kernels,
                     "Fit the efficiency of kernels (kernel_efficiency.csv) on kernels measured "
                     "alone"},
                    {"--host-bound",
                     &spec->host_bound,
                     "Table of steps that the host binds, for the cost of a framework's calls, if "
                     "not the catalogue's",
                     "FILE"},
                    {"--unseen",
                     &spec->unseen,
                     "Table of steps of software that no case ran on, for how far such steps are "
                     "off, if not the catalogue's",
                     "FILE"},
                    {"--experts",
                     &spec->experts,
                     "Table of steps of models with experts, for how far such steps are off, if "
                     "not the catalogue's",
                     "FILE"},
                    {"--floor",
                     &spec->floor,
                     "Also print the smallest error of ratios that factors could reach"},
                    jobs_option(spec->jobs),
                    {"-o,--output", &spec->output, "Table of factors to write (CSV)", "FILE"}},
        .examples = {"fit scenarios/catalogue/published/training.csv -o step_efficiency.csv",
                     "fit --kernels -o kernel_efficiency.csv"},
        .run = [spec] { return fit_command(*spec); },
    };
}

}  // namespace orrery
