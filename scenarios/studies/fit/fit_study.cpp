// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/fit_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/parallel.h"
#include "scenarios/studies/fit/expert_fit.h"
#include "scenarios/studies/fit/step_table.h"
#include "scenarios/studies/search/cluster_costs.h"
#include "scenarios/studies/validate/plain_steps.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/step_validation.h"

namespace orrery {
namespace {

StepTableInputs fit_inputs(const FitSpec& spec) {
    StepTableInputs inputs = catalogue_inputs(default_catalogue());
    inputs.steps = spec.file;
    if (!spec.host_bound.empty()) {
        inputs.host_bound = spec.host_bound;
    }
    if (!spec.unseen.empty()) {
        inputs.unseen = {spec.unseen};
    }
    if (!spec.experts.empty()) {
        inputs.experts = spec.experts;
    }
    return inputs;
}

ResultOrErrors<std::vector<PublishedCase>> read_all(
    const std::vector<std::filesystem::path>& tables) {
    std::vector<PublishedCase> all;
    for (const std::filesystem::path& table : tables) {
        auto cases = read_published_cases(table);
        if (!cases) {
            return unexpected<Errors>(cases.error());
        }
        std::ranges::move(*cases, std::back_inserter(all));
    }
    return all;
}

// The rows host.call of the table. Small steps of unseen software wait for the host; their
// residuals are counted beyond that wait.
EfficiencyTable rows_of_host_calls(const EfficiencyTable& table) {
    EfficiencyTable host;
    for (const auto& [key, parameter] : table.rows()) {
        const auto& [name, generation, dtype] = key;
        if (name == "host.call") {
            host.set(name, generation, dtype, parameter);
        }
    }
    return host;
}

void add_assumed(const std::vector<PublishedCase>& cases,
                 const Catalogue& catalogue,
                 const CostTables& tables,
                 const FitSpec& spec,
                 std::vector<StepSample>& samples) {
    PlainSteps steps{tables};
    for_each_index(samples.size(), spec.jobs, [&](std::size_t i) {
        StepSample& sample = samples[i];
        if (!spec.known.unseen.contains(sample.name)) {
            const auto row = std::ranges::find(cases, sample.name, &PublishedCase::name);
            sample.assumed = rounded_term(spread_of_assumed(*row, catalogue, steps, sample.fits));
        }
    });
}

RowTerms terms_of_steps(const std::vector<StepSample>& samples) {
    RowTerms rows;
    for (const StepSample& sample : samples) {
        rows[sample.name] = terms_of(sample);
    }
    return rows;
}

// The command line with everything that the table depends on.
std::string fit_command_line(const FitSpec& spec) {
    std::string command = "fit " + spec.file;
    const auto add = [&](const char* option, const std::string& file) {
        command += file.empty() ? std::string{} : fmt::format(" {} {}", option, file);
    };
    add("--host-bound", spec.host_bound);
    add("--unseen", spec.unseen);
    add("--experts", spec.experts);
    add("--terms", spec.terms);
    add("-o", spec.output);
    return command;
}

}  // namespace

ResultOrErrors<FittedSteps> fit_steps(const FitSpec& spec) {
    const auto give_up = [](const Error& error) { return unexpected<Errors>(Errors{error}); };
    if (spec.file.empty()) {
        return give_up({"command line",
                        "no table of measured steps is named",
                        "orrery fit CASES.csv, or orrery fit --kernels"});
    }
    const StepTableInputs inputs = fit_inputs(spec);
    const auto cases = read_published_cases(inputs.steps);
    const auto host_bound = read_published_cases(inputs.host_bound);
    const auto unseen = read_all(inputs.unseen);
    const auto experts = read_published_cases(inputs.experts);
    for (const auto* table : {&cases, &host_bound, &unseen, &experts}) {
        if (!*table) {
            return unexpected<Errors>(table->error());
        }
    }
    const Catalogue catalogue{default_catalogue()};
    Result<StepFit> fit = fit_step_efficiency(*cases, catalogue, spec.jobs, spec.known.steps);
    if (!fit) {
        return give_up(fit.error());
    }
    FittedSteps fitted{.fit = std::move(*fit)};
    if (fitted.fit.samples.empty()) {
        return give_up({spec.file, "no row can be simulated", "orrery validate tells why not"});
    }
    auto calls = sample_calls(*host_bound, catalogue, spec.jobs, spec.known.calls);
    if (!calls) {
        return give_up(calls.error());
    }
    fitted.calls = std::move(*calls);
    fit_calls(fitted.calls, fitted.fit.table);
    const auto other_cases = unseen_cases(*unseen, fitted.fit.samples, catalogue);
    auto others = sample_steps(
        other_cases, catalogue, spec.jobs, rows_of_host_calls(fitted.fit.table), spec.known.unseen);
    if (!others) {
        return give_up(others.error());
    }
    const auto curves =
        read_efficiency_table((default_catalogue() / "kernel_efficiency.csv").string());
    if (!curves) {
        return unexpected<Errors>(curves.error());
    }
    add_assumed(other_cases, catalogue, {*curves, fitted.fit.table}, spec, *others);
    fitted.unseen = unseen_errors(fitted.fit.samples, *others, spec.jobs);
    const auto with_experts =
        sample_experts(*experts, catalogue, fitted.fit.table, spec.jobs, spec.known.experts);
    if (!with_experts) {
        return give_up(with_experts.error());
    }
    fitted.unseen.pools[Unseen::experts] = unseen_steps(expert_errors(*with_experts));
    set_residuals(fitted.fit.samples, fitted.unseen, fitted.fit.table);
    if (spec.floor) {
        fitted.floor = ratio_floor(fitted.fit.samples);
    }
    const std::string command = fit_command_line(spec);
    fitted.csv = step_efficiency_csv(fitted.fit.table, command, inputs);
    fitted.terms_csv = step_terms_csv({.steps = terms_of_steps(fitted.fit.samples),
                                       .calls = terms_of(fitted.calls),
                                       .unseen = terms_of_steps(*others),
                                       .experts = terms_of(*with_experts)},
                                      command);
    return fitted;
}

ResultOrErrors<KernelFit> fit_kernels(const FitSpec& spec) {
    const std::vector<std::string> files = spec.file.empty()
                                               ? measurement_files(default_catalogue())
                                               : std::vector<std::string>{spec.file};
    if (files.empty()) {
        return unexpected<Errors>(Errors{{(default_catalogue() / "measurements").string(),
                                          "no table of measurements (*.csv) is there",
                                          "orrery fit --kernels FILE"}});
    }
    auto fit = fit_kernels(files, Catalogue{default_catalogue()});
    if (fit && fit->report.residuals.empty()) {
        return unexpected<Errors>(
            Errors{{files.front(),
                    "no row is a kernel on a device of the catalogue",
                    "scenarios/catalogue/measurements/README.md explains the columns"}});
    }
    return fit;
}

}  // namespace orrery
