// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/validation_report.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json family_of(const TimedFamily& family) {
    return Json{
        {"rows", family.rows}, {"median", family.median}, {"p90", family.p90}, {"max", family.max}};
}

}  // namespace

Report timed_sections(const TimedValidation& validation) {
    ReportSection rows{.title = "Operations"};
    rows.table.columns = {{"case"},
                          {"measured", Unit::seconds},
                          {"predicted", Unit::seconds},
                          {"error", Unit::change},
                          {"as"}};
    for (const TimedRow& row : validation.rows) {
        rows.table.rows.push_back(
            {row.name, row.measured_us * 1e-6, row.predicted_us * 1e-6, row.error(), row.as});
    }
    ReportSection families{.title = "Families",
                           .after = {fmt::format("Median, every family weighing the same: {:.1f} %",
                                                 100 * validation.balanced_median)}};
    families.table.columns = {{"family"},
                              {"rows", Unit::count},
                              {"median", Unit::share},
                              {"p90", Unit::share},
                              {"max", Unit::share}};
    for (const TimedFamily& family : validation.families) {
        families.table.rows.push_back(
            {family.name, family.rows, family.median, family.p90, family.max});
    }
    ReportSection skipped{.title = "Not expressible", .table = {.columns = {{"case"}, {"reason"}}}};
    for (const SkippedRow& row : validation.skipped) {
        skipped.table.rows.push_back({row.name, row.reason});
    }
    return {.title = "Predicted and published times of operations",
            .sections = {std::move(rows), std::move(families), std::move(skipped)}};
}

std::string json_report(const TimedValidation& validation) {
    Json rows = json_list<Json>(validation.rows, [](const TimedRow& row) -> Json {
        return {{"case", row.name},
                {"family", row.family},
                {"measured_s", row.measured_us * 1e-6},
                {"predicted_s", row.predicted_us * 1e-6},
                {"error", row.error()},
                {"as", row.as}};
    });
    Json skipped = json_list<Json>(validation.skipped, [](const SkippedRow& row) -> Json {
        return {{"case", row.name}, {"family", row.family}, {"reason", row.reason}};
    });
    Json families = Json::object();
    for (const TimedFamily& family : validation.families) {
        families[family.name] = family_of(family);
    }
    return json_text(Json{{"rows", rows},
                          {"skipped", skipped},
                          {"families", families},
                          {"overall", {{"balanced_median", validation.balanced_median}}}});
}

}  // namespace orrery
