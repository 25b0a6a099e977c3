// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/timed_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json family_of(const TimedFamily& family) {
    return Json{
        {"rows", family.rows}, {"median", family.median}, {"p90", family.p90}, {"max", family.max}};
}

}  // namespace

std::string timed_report(const TimedValidation& validation) {
    std::string text = fmt::format(
        "{:<48}{:>13}{:>14}{:>9}  {}\n\n", "case", "measured us", "predicted us", "error", "as");
    for (const TimedRow& row : validation.rows) {
        text += fmt::format("{:<48}{:>13.1f}{:>14.1f}{:>+8.1f}%  {}\n",
                            cut(row.name, 47),
                            row.measured_us,
                            row.predicted_us,
                            row.error() * 100,
                            row.as);
    }
    text +=
        fmt::format("\n{:<30}{:>6}{:>9}{:>9}{:>9}\n\n", "family", "rows", "median", "p90", "max");
    for (const TimedFamily& family : validation.families) {
        text += fmt::format("{:<30}{:>6}{:>8.1f}%{:>8.1f}%{:>8.1f}%\n",
                            cut(family.name, 29),
                            family.rows,
                            family.median * 100,
                            family.p90 * 100,
                            family.max * 100);
    }
    text += fmt::format("\nevery family weighing the same{:>14.1f}%\n",
                        validation.balanced_median * 100);
    if (!validation.skipped.empty()) {
        text += "\nNot expressible\n\n";
        for (const SkippedRow& row : validation.skipped) {
            text += fmt::format("{:<48}{}\n", cut(row.name, 47), row.reason);
        }
    }
    return text;
}

std::string json_report(const TimedValidation& validation) {
    Json rows = Json::array();
    for (const TimedRow& row : validation.rows) {
        rows.push_back({{"case", row.name},
                        {"family", row.family},
                        {"measured_us", row.measured_us},
                        {"predicted_us", row.predicted_us},
                        {"error", row.error()},
                        {"as", row.as}});
    }
    Json skipped = Json::array();
    for (const SkippedRow& row : validation.skipped) {
        skipped.push_back({{"case", row.name}, {"family", row.family}, {"reason", row.reason}});
    }
    Json families = Json::object();
    for (const TimedFamily& family : validation.families) {
        families[family.name] = family_of(family);
    }
    return json_text(Json{{"rows", rows},
                          {"skipped", skipped},
                          {"families", families},
                          {"balanced_median", validation.balanced_median}});
}

}  // namespace orrery
