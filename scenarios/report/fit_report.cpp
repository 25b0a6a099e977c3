// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "scenarios/report/validation_report.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

FamilyErrors errors_with(const std::vector<StepSample>& samples, const EfficiencyTable& table) {
    FamilyErrors errors;
    for (const StepSample& sample : samples) {
        errors[sample.family].push_back(
            std::abs(predict_step(sample, table) / sample.measured_s - 1));
    }
    return errors;
}

FamilyErrors relative(const FamilyErrors& log_errors) {
    FamilyErrors errors;
    for (const auto& [family, of_family] : log_errors) {
        for (const double error : of_family) {
            errors[family].push_back(std::abs(std::expm1(error)));
        }
    }
    return errors;
}

// Mean over the families of their medians.
double balanced(const FamilyErrors& errors) {
    double sum = 0;
    for (const auto& [family, of_family] : errors) {
        sum += summarise(of_family).median;
    }
    return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
}

ReportSection families_section(const FittedSteps& fitted) {
    const std::vector<StepSample>& samples = fitted.fit.samples;
    FamilyErrors without = errors_with(samples, EfficiencyTable{});
    const FamilyErrors with = errors_with(samples, fitted.fit.table);
    FamilyErrors left_out = relative(fitted.unseen.families);
    ReportTable table{.columns = {{.title = "family"},
                                  {.title = "cases", .unit = Unit::count},
                                  {.title = "no factors", .unit = Unit::share},
                                  {.title = "fitted", .unit = Unit::share},
                                  {.title = "fitted elsewhere", .unit = Unit::share}}};
    for (const auto& [family, errors] : with) {
        table.rows.push_back({family,
                              errors.size(),
                              summarise(without[family]).median,
                              summarise(errors).median,
                              summarise(left_out[family]).median});
    }
    table.rows.push_back({"balanced median error",
                          samples.size(),
                          balanced(without),
                          balanced(with),
                          balanced(left_out)});
    return {.title = "Median error of the steps by family", .table = std::move(table)};
}

ReportSection unseen_section(const UnseenErrors& errors) {
    ReportTable table{
        .columns = {{.title = "left out of the fit"},
                    {.title = "of these", .unit = Unit::count},
                    {.title = "steps", .unit = Unit::count},
                    {.title = "shift", .unit = Unit::share},
                    {.title = "1 sigma", .unit = Unit::share},
                    {.title = "within 90 % of the others", .unit = Unit::share, .digits = 0}}};
    std::map<Unseen, StepSpread> spreads = spreads_of(errors.pools);
    for (const auto& [name, kind] : {std::pair{"a family of steps", Unseen::nothing},
                                     {"all steps of a software", Unseen::software},
                                     {"all steps of a lineage of software", Unseen::lineage},
                                     {"all steps of a device generation", Unseen::device},
                                     {"a family of steps with experts", Unseen::experts}}) {
        const auto pool = errors.pools.find(kind);
        const UnseenSteps of = pool == errors.pools.end() ? UnseenSteps{} : pool->second;
        std::size_t steps = 0;
        for (const auto& [left_out, all] : of) {
            steps += all.size();
        }
        table.rows.push_back({name,
                              of.size(),
                              steps,
                              std::expm1(spreads[kind].shift),
                              spreads[kind].sigma,
                              left_out_coverage(errors.pools, kind)});
    }
    const StepSpread& trend = spreads[Unseen::lineage];
    return {.title = "Steps that the factors were not fitted on",
            .table = std::move(table),
            .after = {fmt::format(
                "Shift on one GPU; of software and lineages each doubling of the GPUs adds "
                "{:.1f} %. 1 sigma up to eight GPUs for a second of the step; each doubling beyond "
                "makes it {:.0f} % wider.",
                100 * std::expm1(trend.shift_doubling),
                100 * std::expm1(trend.sigma_doubling))}};
}

ReportSection calls_section(const std::vector<CallSample>& calls) {
    ReportTable table{.columns = {{.title = "step"},
                                  {.title = "devices"},
                                  {.title = "type"},
                                  {.title = "a call is, in launches", .unit = Unit::number}}};
    for (const CallSample& sample : calls) {
        table.rows.push_back({sample.name, sample.generation, sample.dtype, sample.call});
    }
    return {.title = "Steps that the host binds", .table = std::move(table)};
}

ReportSection floor_section(const RatioFloor& floor) {
    ReportTable table{.columns = {{.title = "factors", .unit = Unit::count},
                                  {.title = "error of ratios", .unit = Unit::share},
                                  {.title = "balanced median error", .unit = Unit::share}},
                      .rows = {{floor.factors, floor.ratio_error, floor.balanced_error}}};
    return {
        .title = "The smallest error of ratios that factors can reach",
        .table = std::move(table),
        .after = {fmt::format("One factor for each kind of kernel of each generation and element "
                              "type, sought on these very ratios: two steps of a family and stack "
                              "whose efficiencies differ by {:.0f} % or more. The error is the "
                              "mean of the families' medians.",
                              100 * kEfficiencyDiffers)}};
}

}  // namespace

Report step_fit_sections(const FittedSteps& fitted) {
    Report report{
        .title = "Factors of a training step",
        .sections = {
            families_section(fitted), unseen_section(fitted.unseen), calls_section(fitted.calls)}};
    if (fitted.floor) {
        report.sections.push_back(floor_section(*fitted.floor));
    }
    return report;
}

Report kernel_fit_sections(const KernelFit& fit) {
    const std::map<std::string, FitSummary> left_out = summarise(fit.left_out);
    ReportTable table{.columns = {{.title = "kernels"},
                                  {.title = "rows", .unit = Unit::count},
                                  {.title = "median", .unit = Unit::change},
                                  {.title = "fitted", .unit = Unit::share},
                                  {.title = "90th", .unit = Unit::share},
                                  {.title = "fitted elsewhere", .unit = Unit::share}}};
    for (const auto& [name, summary] : summarise(fit.report.residuals)) {
        table.rows.push_back({name,
                              summary.rows,
                              summary.median_error,
                              summary.median_absolute_error,
                              summary.p90_absolute_error,
                              left_out.at(name).median_absolute_error});
    }
    return {.title = "Efficiency of kernels",
            .sections = {{.title = "Error of the kernels' times", .table = std::move(table)}}};
}

}  // namespace orrery
