// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/collective_report.h"

#include <fmt/format.h>

#include "scenarios/format/document/utf8.h"

namespace orrery {
namespace {

std::string errors_of(std::size_t rows, double error) {
    return rows == 0 ? fmt::format("{:>5}{:>9}", rows, "-")
                     : fmt::format("{:>5}{:>8.1f}%", rows, error * 100);
}

std::string line_of(const CollectiveFamily& family) {
    std::string text = fmt::format("{:<46}", cut(family.name, 45));
    text += errors_of(family.rows_small, family.median_small);
    text += errors_of(family.rows_large, family.median_large);
    text += family.rows_large == 0 ? "\n" : fmt::format("{:>8.1f}%\n", family.max_large * 100);
    return text;
}

}  // namespace

std::string collective_report(const CollectiveValidation& validation) {
    std::string text = fmt::format("{:<44}{:>13}{:>14}{:>14}{:>8}  {}\n\n",
                                   "case",
                                   "size (B)",
                                   "measured us",
                                   "predicted us",
                                   "error",
                                   "as");
    for (const ValidatedCollective& row : validation.rows) {
        text += fmt::format("{:<44}{:>13}{:>14.1f}{:>14.1f}{:>+7.1f}%  {} {}\n",
                            cut(row.of.family(), 43),
                            row.of.bytes.count(),
                            row.of.measured_us,
                            row.predicted_us,
                            row.error() * 100,
                            row.algorithm,
                            row.protocol);
    }
    text += fmt::format("\n{:<46}{:>14}{:>14}\n{:<46}{:>5}{:>9}{:>5}{:>9}{:>9}\n\n",
                        "",
                        "below 1 MiB",
                        "from 1 MiB",
                        "family",
                        "rows",
                        "median",
                        "rows",
                        "median",
                        "max");
    for (const CollectiveFamily& family : validation.families) {
        text += line_of(family);
    }
    text += "\n" + line_of(validation.all);
    if (!validation.skipped.empty()) {
        text += "\nNot expressible\n\n";
        for (const SkippedCollective& family : validation.skipped) {
            text += fmt::format("{:<46}{}\n", cut(family.family, 45), family.reason);
        }
    }
    return text;
}

}  // namespace orrery
