// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/fit.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "scenarios/format/document/output_file.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/studies/validate/call_fit.h"
#include "scenarios/studies/validate/kernel_fit.h"
#include "scenarios/studies/validate/ratio_floor.h"
#include "scenarios/studies/validate/step_fit.h"
#include "scenarios/studies/validate/step_table.h"
#include "scenarios/studies/validate/unseen_fit.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

using ErrorsOfFamilies = std::map<std::string, std::vector<double>>;

ErrorsOfFamilies errors_of(const std::vector<StepSample>& samples, const EfficiencyTable& table) {
    ErrorsOfFamilies errors;
    for (const StepSample& sample : samples) {
        errors[sample.family].push_back(
            std::abs(predict_step(sample, table) / sample.measured_s - 1));
    }
    return errors;
}

double balanced(const ErrorsOfFamilies& errors) {
    double sum = 0;
    for (const auto& [family, of_family] : errors) {
        sum += summarise(of_family).median;
    }
    return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
}

std::string residuals(const StepFit& fit, const FamilyErrors& log_errors) {
    ErrorsOfFamilies without = errors_of(fit.samples, EfficiencyTable{});
    const ErrorsOfFamilies with = errors_of(fit.samples, fit.table);
    ErrorsOfFamilies left_out;
    for (const auto& [family, of_family] : log_errors) {
        for (const double error : of_family) {
            left_out[family].push_back(std::abs(std::expm1(error)));
        }
    }
    std::string text = fmt::format("{:<24} {:>5} {:>10} {:>8} {:>16}\n",
                                   "family",
                                   "cases",
                                   "no factors",
                                   "fitted",
                                   "fitted elsewhere");
    for (const auto& [family, errors] : with) {
        text += fmt::format("{:<24} {:>5} {:>9.1f}% {:>7.1f}% {:>15.1f}%\n",
                            family,
                            errors.size(),
                            100 * summarise(without[family]).median,
                            100 * summarise(errors).median,
                            100 * summarise(left_out[family]).median);
    }
    text += fmt::format("{:<24} {:>5} {:>9.1f}% {:>7.1f}% {:>15.1f}%\n\n",
                        "balanced median error",
                        fit.samples.size(),
                        100 * balanced(without),
                        100 * balanced(with),
                        100 * balanced(left_out));
    return text;
}

std::string coverage_text(const UnseenErrors& errors) {
    std::string text = fmt::format("{:<34} {:>8} {:>5} {:>7} {:>8} {:>24}\n",
                                   "left out of the fit",
                                   "of these",
                                   "steps",
                                   "shift",
                                   "1 sigma",
                                   "within 90 % of the others");
    const auto line = [&](const char* name, Unseen kind) {
        const auto pool = errors.pools.find(kind);
        const FamilyErrors of = pool == errors.pools.end() ? FamilyErrors{} : pool->second;
        std::size_t steps = 0;
        for (const auto& [left_out, all] : of) {
            steps += all.size();
        }
        const bool shifted = kind != Unseen::nothing;
        const double centre = shifted ? centre_of(of) : 0;
        text += fmt::format("{:<34} {:>8} {:>5} {:>+6.1f}% {:>7.1f}% {:>23.0f}%\n",
                            name,
                            of.size(),
                            steps,
                            100 * std::expm1(0 - centre),
                            100 * spread_between(of, centre),
                            100 * left_out_coverage(of, shifted));
    };
    line("a family of steps", Unseen::nothing);
    line("all steps of a software", Unseen::software);
    line("all steps of a lineage of software", Unseen::lineage);
    line("all steps of a device generation", Unseen::device);
    return text + "\n";
}

std::string calls_text(const std::vector<CallSample>& calls) {
    std::string text = fmt::format("{:<30} {:<10} {:<5} {:>22}\n",
                                   "step that the host binds",
                                   "devices",
                                   "",
                                   "a call is, in launches");
    for (const CallSample& sample : calls) {
        text += fmt::format("{:<30} {:<10} {:<5} {:>22.1f}\n",
                            sample.name,
                            sample.generation,
                            sample.dtype,
                            sample.call);
    }
    return text + "\n";
}

std::string floor_text(const std::vector<StepSample>& samples) {
    const RatioFloor floor = ratio_floor(samples);
    return fmt::format(
        "Ratios of two steps of a family and stack whose efficiencies differ by {:.0f} % or more:\n"
        "with {} factors, one for each kind of kernel of each generation and element type, sought\n"
        "on these very ratios, still {:.1f} % (mean of the families' medians); balanced median\n"
        "error then {:.1f} %.\n\n",
        100 * kEfficiencyDiffers,
        floor.factors,
        100 * floor.ratio_error,
        100 * floor.balanced_error);
}

std::string kernels_text(const KernelFit& fit) {
    const std::map<std::string, FitSummary> left_out = summarise(fit.left_out);
    std::string text = fmt::format("{:<28} {:>5} {:>8} {:>8} {:>8} {:>17}\n",
                                   "kernels",
                                   "rows",
                                   "median",
                                   "fitted",
                                   "90th",
                                   "fitted elsewhere");
    for (const auto& [name, summary] : summarise(fit.report.residuals)) {
        text += fmt::format("{:<28} {:>5} {:>+7.1f}% {:>7.1f}% {:>7.1f}% {:>16.1f}%\n",
                            name,
                            summary.rows,
                            100 * summary.median_error,
                            100 * summary.median_absolute_error,
                            100 * summary.p90_absolute_error,
                            100 * left_out.at(name).median_absolute_error);
    }
    return text + "\n";
}

StepTableInputs inputs_of(const FitArguments& arguments) {
    StepTableInputs inputs = catalogue_inputs(default_catalogue());
    inputs.steps = arguments.file;
    if (!arguments.host_bound.empty()) {
        inputs.host_bound = arguments.host_bound;
    }
    if (!arguments.unseen.empty()) {
        inputs.unseen = arguments.unseen;
    }
    return inputs;
}

// All that the table depends on, as it was typed.
std::string command_of(const FitArguments& arguments) {
    std::string command = "fit " + arguments.file;
    const auto add = [&](const char* option, const std::string& file) {
        command += file.empty() ? std::string{} : fmt::format(" {} {}", option, file);
    };
    add("--host-bound", arguments.host_bound);
    add("--unseen", arguments.unseen);
    add("-o", arguments.output);
    return command;
}

// Opens the file before the work is done, so that a place that can't be written is told at once.
Result<std::unique_ptr<OutputFile>> open_table(const std::string& path) {
    if (path.empty()) {
        return std::unique_ptr<OutputFile>{};
    }
    return OutputFile::open(path);
}

int print_fit_table(OutputFile* file, const std::string& text, const std::string& csv) {
    if (file == nullptr) {
        return print_output(text + csv);
    }
    file->stream() << csv;
    if (const Result<void> written = file->commit(); !written) {
        return report_error(written.error());
    }
    return print_output(text);
}

int fit_kernels_command(const FitArguments& arguments) {
    const std::vector<std::string> files = arguments.file.empty()
                                               ? measurement_files(default_catalogue())
                                               : std::vector<std::string>{arguments.file};
    if (files.empty()) {
        return report_error({(default_catalogue() / "measurements").string(),
                             "no table of measurements (*.csv) is there",
                             "orrery fit --kernels FILE"});
    }
    const auto file = open_table(arguments.output);
    if (!file) {
        return report_error(file.error());
    }
    const auto fit = fit_kernels(files, Catalogue{default_catalogue()});
    if (!fit) {
        return report_errors(fit.error());
    }
    if (fit->report.residuals.empty()) {
        return report_error({files.front(),
                             "no row is a kernel on a device of the catalogue",
                             "scenarios/catalogue/measurements/README.md explains the columns"});
    }
    return print_fit_table(file->get(), kernels_text(*fit), kernel_efficiency_csv(*fit));
}

}  // namespace

int fit_command(const FitArguments& arguments) {
    if (arguments.kernels) {
        return fit_kernels_command(arguments);
    }
    if (arguments.file.empty()) {
        return report_error({"",
                             "no table of measured steps is named",
                             "orrery fit CASES.csv, or orrery fit --kernels"});
    }
    const auto cases = read_published_cases(arguments.file);
    if (!cases) {
        return report_errors(cases.error());
    }
    const auto file = open_table(arguments.output);
    if (!file) {
        return report_error(file.error());
    }
    const StepTableInputs inputs = inputs_of(arguments);
    const auto host_bound = read_published_cases(inputs.host_bound);
    if (!host_bound) {
        return report_errors(host_bound.error());
    }
    const auto unseen = read_published_cases(inputs.unseen);
    if (!unseen) {
        return report_errors(unseen.error());
    }
    const Catalogue catalogue{default_catalogue()};
    Result<StepFit> fit = fit_step_efficiency(*cases, catalogue, arguments.jobs);
    if (!fit) {
        return report_error(fit.error());
    }
    const Result<std::vector<CallSample>> calls =
        sample_calls(*host_bound, catalogue, arguments.jobs);
    if (!calls) {
        return report_error(calls.error());
    }
    fit_calls(*calls, fit->table);
    if (fit->samples.empty()) {
        return report_error(
            {arguments.file, "no row can be simulated", "orrery validate tells why not"});
    }
    const Result<std::vector<StepSample>> others =
        sample_steps(unseen_cases(*unseen, fit->samples, catalogue), catalogue, arguments.jobs);
    if (!others) {
        return report_error(others.error());
    }
    const UnseenErrors errors = unseen_errors(fit->samples, *others, arguments.jobs);
    set_residuals(fit->samples, errors, fit->table);
    const std::string text = residuals(*fit, errors.families) + coverage_text(errors) +
                             calls_text(*calls) +
                             (arguments.floor ? floor_text(fit->samples) : std::string{});
    return print_fit_table(
        file->get(), text, step_efficiency_csv(fit->table, command_of(arguments), inputs));
}

Command describe_fit() {
    const auto arguments = std::make_shared<FitArguments>();
    return {
        .name = "fit",
        .help = "Fit the catalogue's general factors of a training step, or its kernel times",
        .options = {{"cases",
                     &arguments->file,
                     "Table of measured steps (CSV); with --kernels of kernels, if not the "
                     "catalogue's",
                     "FILE"},
                    {"--kernels",
                     &arguments->kernels,
                     "Fit the efficiency of kernels (kernel_efficiency.csv) on kernels measured "
                     "alone"},
                    {"--host-bound",
                     &arguments->host_bound,
                     "Table of steps that the host binds, for the cost of a framework's calls, if "
                     "not the catalogue's",
                     "FILE"},
                    {"--unseen",
                     &arguments->unseen,
                     "Table of steps of software that no case ran on, for how far such steps are "
                     "off, if not the catalogue's",
                     "FILE"},
                    {"--floor",
                     &arguments->floor,
                     "Tell also what one factor for every kind of kernel could do at most for the "
                     "ratios of steps"},
                    jobs_option(arguments->jobs),
                    {"-o,--output", &arguments->output, "Table of factors to write (CSV)", "FILE"}},
        .examples = {"fit scenarios/catalogue/published/training.csv -o step_efficiency.csv",
                     "fit --kernels -o kernel_efficiency.csv"},
        .run = [arguments] { return fit_command(*arguments); },
    };
}

}  // namespace orrery
