// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/validation_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "scenarios/report/render/report_words.h"

namespace orrery {
namespace {

ReportSection steps_section(const Validation& validation) {
    ReportSection section{.title = "Steps",
                          .note = "90 % = half width of the prediction's 90 % interval."};
    if (std::ranges::any_of(validation.rows,
                            [](const ValidatedCase& row) { return row.shift != 0; })) {
        section.after = {
            "predicted = simulated, and of a step that is unlike the fitted ones what such steps "
            "took in the median."};
    }
    section.table.columns = {{"case"},
                             {"measured", Unit::seconds},
                             {"predicted", Unit::seconds},
                             {"90 %", Unit::share},
                             {"error", Unit::change},
                             {"control", Unit::change},
                             {"memory"}};
    for (const ValidatedCase& row : validation.rows) {
        section.table.rows.push_back({row.name,
                                      row.measured_s,
                                      row.predicted_s,
                                      row.half_width(),
                                      row.error(),
                                      row.control_error(),
                                      row.fits ? "" : "does not fit"});
    }
    return section;
}

ReportSection validated_families(const Validation& validation) {
    ReportSection section{
        .title = "Families",
        .note =
            "ratios = median error of the ratio of two steps whose efficiencies differ by 4 % "
            "or more, order = rank correlation of predicted and measured times."};
    section.table.columns = {{"family"},
                             {"cases", Unit::count},
                             {"median", Unit::share},
                             {"p90", Unit::share},
                             {"max", Unit::share},
                             {"control", Unit::share},
                             {"ratios", Unit::share},
                             {"order", Unit::number, 2}};
    for (const FamilySummary& family : validation.families) {
        const bool ordered = family.predicted.cases >= 3;
        section.table.rows.push_back({family.family,
                                      family.predicted.cases,
                                      family.predicted.median,
                                      family.predicted.p90,
                                      family.predicted.max,
                                      family.control.median,
                                      family.ratios.pairs > 0 ? Cell{family.ratios.median} : Cell{},
                                      ordered ? Cell{family.ratios.rank_correlation} : Cell{}});
    }
    return section;
}

ReportSection skipped_cases(const Validation& validation) {
    ReportSection section{.title = "Not expressible", .table = {.columns = {{"case"}, {"reason"}}}};
    for (const SkippedCase& skip : validation.skipped) {
        section.table.rows.push_back({skip.name, skip.reason});
    }
    return section;
}

ReportSection overall(const Validation& validation) {
    const bool ratios = std::ranges::any_of(
        validation.families, [](const FamilySummary& family) { return family.ratios.pairs > 0; });
    ReportSection section{.title = "All cases"};
    section.table.columns = {{"figure"}, {"predicted", Unit::share}, {"control", Unit::share}};
    section.table.rows = {
        {"balanced error: mean of the families' medians",
         validation.balanced_error,
         validation.control_balanced_error},
        {"90th percentile over all cases", validation.p90_error, Cell{}},
        {"ratios: mean of the families' medians",
         ratios ? Cell{validation.ratio_error} : Cell{},
         ratios ? Cell{validation.control_ratio_error} : Cell{}},
        {"cases inside the 90 % interval", validation.coverage, Cell{}},
        {"the same, every family weighing the same", validation.balanced_coverage, Cell{}},
        {"half width of that interval, in the median", validation.median_half_width, Cell{}}};
    section.note = "control = a constant MFU for each GPU generation and precision.";
    const Ranking& ranking = validation.ranking;
    if (ranking.pairs > 0) {
        section.after.push_back(
            fmt::format("Of {} pairs of plans for the same model, GPUs and batch ({} of them), "
                        "order by predicted and by measured time: Kendall's tau {:.2f}.",
                        ranking.pairs,
                        ranking.choices,
                        ranking.tau));
    }
    if (ranking.families > 0) {
        section.after.push_back(
            fmt::format("Over all cases of one model in a family, in the mean of such families "
                        "({} of them): Kendall's tau {:.2f}.",
                        ranking.families,
                        ranking.families_tau));
    }
    if (!validation.assumed_instead.empty()) {
        section.after.push_back(fmt::format("Where a case does not state it: {}.",
                                            fmt::join(validation.assumed_instead, ", ")));
    }
    return section;
}

}  // namespace

Report validation_sections(const Validation& validation) {
    Report report{.title = "Predicted and published steps"};
    report.lines = {validation.rows.empty()
                        ? "No case can be simulated."
                        : fmt::format("{} simulated, {} not expressible",
                                      counted(std::ssize(validation.rows), "case"),
                                      validation.skipped.size())};
    if (!validation.rows.empty()) {
        report.sections = {steps_section(validation), validated_families(validation)};
    }
    report.sections.push_back(skipped_cases(validation));
    if (!validation.rows.empty()) {
        report.sections.push_back(overall(validation));
    }
    return report;
}

}  // namespace orrery
