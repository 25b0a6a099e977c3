// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/validation_report.h"

#include <fmt/format.h>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/console_report.h"

namespace orrery {
namespace {

std::string cases_table(const Validation& validation) {
    std::string text = fmt::format("{:<34}{:>11}{:>11}{:>9}{:>9}{:>10}\n\n",
                                   "case",
                                   "measured",
                                   "predicted",
                                   "90 %",
                                   "error",
                                   "control");
    for (const ValidatedCase& row : validation.rows) {
        text += fmt::format("{:<34}{:>11.4g}{:>11.4g}{:>8.1f}%{:>+8.1f}%{:>+9.1f}%{}\n",
                            cut(row.name, 33),
                            row.measured_s,
                            row.predicted_s,
                            row.half_width() * 100,
                            row.error() * 100,
                            row.control_error() * 100,
                            row.fits ? "" : "  does not fit");
    }
    return text;
}

std::string families_table(const Validation& validation) {
    std::string text = fmt::format("\n{:<24}{:>6}{:>9}{:>7}{:>7}{:>10}{:>9}{:>9}\n\n",
                                   "family",
                                   "cases",
                                   "median",
                                   "p90",
                                   "max",
                                   "control",
                                   "ratios",
                                   "order");
    for (const FamilySummary& family : validation.families) {
        text += fmt::format("{:<24}{:>6}{:>8.1f}%{:>6.1f}%{:>6.1f}%{:>9.1f}%",
                            cut(family.family, 23),
                            family.predicted.cases,
                            family.predicted.median * 100,
                            family.predicted.p90 * 100,
                            family.predicted.max * 100,
                            family.control.median * 100);
        if (family.ratios.pairs > 0) {
            text += fmt::format("{:>8.1f}%", family.ratios.median * 100);
        }
        if (family.predicted.cases >= 3) {
            text += fmt::format("{:>9.2f}", family.ratios.rank_correlation);
        }
        text += "\n";
    }
    return text;
}

std::string skipped_table(const Validation& validation) {
    std::string text;
    for (const SkippedCase& skip : validation.skipped) {
        text += text.empty() ? "\nNot expressible\n\n" : "";
        const std::string line = fmt::format("{:<42}{}", cut(skip.name, 41), skip.reason);
        text += cut(line, kReportColumns) + "\n";
    }
    return text;
}

}  // namespace

std::string validation_report(const Validation& validation) {
    if (validation.rows.empty()) {
        return "No case can be simulated.\n" + skipped_table(validation);
    }
    const Ranking& ranking = validation.ranking;
    const std::string order =
        ranking.pairs == 0
            ? ""
            : fmt::format(
                  "Of {} pairs of plans for the same model, GPUs and batch ({} of them), order by\n"
                  "predicted and by measured time: Kendall's tau {:.2f}.\n",
                  ranking.pairs,
                  ranking.choices,
                  ranking.tau);
    const std::string families_order =
        ranking.families == 0
            ? ""
            : fmt::format(
                  "The same over all cases of one model in a family, in the mean of such families\n"
                  "({} of them): {:.2f}.\n",
                  ranking.families,
                  ranking.families_tau);
    const std::string assumed = validation.assumed_instead.empty()
                                    ? ""
                                    : fmt::format("Where a case does not state it: {}.\n",
                                                  fmt::join(validation.assumed_instead, ", "));
    return cases_table(validation) + families_table(validation) + skipped_table(validation) +
           fmt::format(
               "\nBalanced error (mean of the families' medians): {:.1f} %; a constant MFU per "
               "GPU\n"
               "generation and precision: {:.1f} %. {} cases simulated, {} not expressible.\n"
               "90th percentile over all cases: {:.1f} %. Ratio of two cases of a family and "
               "stack whose\n"
               "efficiencies differ by 4 % or more (mean of the families' medians): {:.1f} %; the "
               "constant: "
               "{:.1f} %.\n"
               "{:.0f} % of the cases lie within the 90 % interval of their prediction ({:.0f} % "
               "balanced),\n"
               "whose half width is {:.1f} % in the median.\n"
               "Columns: 90 % = half width of that interval, ratios = median error of such "
               "ratios,\n"
               "order = rank correlation of predicted and measured times.\n",
               validation.balanced_error * 100,
               validation.control_balanced_error * 100,
               validation.rows.size(),
               validation.skipped.size(),
               validation.p90_error * 100,
               validation.ratio_error * 100,
               validation.control_ratio_error * 100,
               validation.coverage * 100,
               validation.balanced_coverage * 100,
               validation.median_half_width * 100) +
           order + families_order + assumed;
}

}  // namespace orrery
