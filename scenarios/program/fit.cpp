// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/fit.h"

#include <memory>
#include <string>
#include <utility>

#include "scenarios/format/document/output_file.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/spooled_input.h"
#include "scenarios/report/validation_report.h"

namespace orrery {
namespace {

// The table form ends with the table of factors if no file is named for it.
StudyOutput fit_output(const FitArguments& arguments, Report report, std::string csv) {
    const std::string text = to_text(report);
    return {.report = std::move(report),
            .json = {},
            .provenance = provenance_of("fit"),
            .text = arguments.output.empty() ? text + "\n" + csv : text,
            .product = std::move(csv)};
}

ResultOrErrors<StudyOutput> fitted_output(const FitArguments& arguments) {
    const auto give_up = [](const Error& error) { return unexpected<Errors>(Errors{error}); };
    if (arguments.spec.kernels && !arguments.spec.terms.empty()) {
        return give_up({"--terms", "kernels measured alone are not simulated", "leave it out"});
    }
    if (arguments.spec.terms == "-") {
        return give_up({"--terms", "the report is on standard output", "name a file"});
    }
    const auto terms = OutputFile::open_if_named(arguments.spec.terms);
    if (!terms) {
        return give_up(terms.error());
    }
    if (arguments.spec.kernels) {
        const auto fit = fit_kernels(arguments.spec);
        return fit ? fit_output(arguments, kernel_fit_sections(*fit), kernel_efficiency_csv(*fit))
                   : ResultOrErrors<StudyOutput>{unexpected<Errors>(fit.error())};
    }
    const auto fitted = fit_steps(arguments.spec);
    if (fitted && *terms) {
        if (const auto written = (*terms)->commit(fitted->terms_csv); !written) {
            return give_up(written.error());
        }
    }
    return fitted ? fit_output(arguments, step_fit_sections(*fitted), fitted->csv)
                  : ResultOrErrors<StudyOutput>{unexpected<Errors>(fitted.error())};
}

}  // namespace

int fit_command(const FitArguments& given) {
    const auto input = SpooledInput::of(given.spec.file);
    if (!input) {
        return report_error(input.error());
    }
    FitArguments arguments = given;
    arguments.spec.file = input->file();
    arguments.spec.output = given.output;
    return run_study(arguments, arguments.spec.file, "fitting", [&](const auto&) {
        return fitted_output(arguments);
    });
}

Command describe_fit() {
    const auto arguments = std::make_shared<FitArguments>();
    FitSpec* const spec = &arguments->spec;
    return {
        .name = "fit",
        .group = CommandGroup::judge,
        .help = "Fit the catalogue's general factors of a training step, or its kernel times",
        .options =
            joined({{{"cases",
                      &spec->file,
                      "Table of measured steps (CSV); with --kernels of kernels, if not the "
                      "catalogue's; '-' is standard input",
                      "FILE"},
                     {"--kernels",
                      &spec->kernels,
                      "Fit the efficiency of kernels (kernel_efficiency.csv) on kernels measured "
                      "alone"},
                     {"--host-bound",
                      &spec->host_bound,
                      "Table of steps that wait for the host (if not given: the catalogue's): they "
                      "give the cost of a framework's calls",
                      "FILE"},
                     {"--unseen",
                      &spec->unseen,
                      "Table of steps of other software (if not given: the catalogue's): they give "
                      "the interval of such steps",
                      "FILE"},
                     {"--experts",
                      &spec->experts,
                      "Table of steps of models with experts (if not given: the catalogue's): they "
                      "give the interval of such steps",
                      "FILE"},
                     {"--terms",
                      &spec->terms,
                      "Also write what the simulations give of each step (CSV)",
                      "FILE"},
                     {"--floor",
                      &spec->floor,
                      "Also print the smallest error of ratios that factors could reach"},
                     jobs_option(spec->jobs),
                     output_option(arguments->output, "Table of factors to write (CSV)")},
                    view_options(*arguments, {.html = kPageHelp})}),
        .examples = {"fit scenarios/catalogue/published/training.csv -o step_efficiency.csv",
                     "fit --kernels -o kernel_efficiency.csv"},
        .run = [arguments] { return fit_command(*arguments); },
    };
}

}  // namespace orrery
