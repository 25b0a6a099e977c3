// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/report/render/json_report.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/validation_report.h"

namespace orrery {
namespace {

std::vector<Cell> calibrated_row(const std::string& name, const CalibratedFamily& family) {
    return {name, family.steps, family.before, family.after, family.coverage, family.half_width};
}

}  // namespace

Report calibration_sections(const CalibratedValidation& validation) {
    Report report{.title = "What a few measured steps are worth for the others"};
    if (validation.families.empty()) {
        report.lines = {
            fmt::format("No family has more than {} steps that can be simulated: none "
                        "is left to predict.",
                        validation.given)};
        return report;
    }
    ReportSection section{.title = "Median error of the other steps"};
    section.table.columns = {{"family"},
                             {"steps", Unit::count},
                             {"without", Unit::share},
                             {"calibrated", Unit::share},
                             {"inside", Unit::share, 0},
                             {"90 %", Unit::share}};
    CalibratedFamily all{.before = validation.before,
                         .after = validation.after,
                         .coverage = validation.coverage,
                         .half_width = validation.half_width};
    for (const CalibratedFamily& family : validation.families) {
        section.table.rows.push_back(calibrated_row(family.family, family));
        all.steps += family.steps;
    }
    section.table.rows.push_back(calibrated_row("mean of the families", all));
    section.note = fmt::format(
        "Measured times of {} of each software version and device generation of a family are "
        "given, drawn {}. inside = share of the other steps in their 90 % interval, 90 % = half "
        "width of that interval.",
        counted(static_cast<std::int64_t>(validation.given), "step"),
        counted(static_cast<std::int64_t>(validation.draws), "time"));
    report.sections = {std::move(section)};
    return report;
}

std::string calibration_json(const Validation& validation, const CalibratedValidation& calibrated) {
    using Json = nlohmann::ordered_json;
    Json json = Json::parse(json_report(validation));
    Json families = Json::object();
    for (const CalibratedFamily& family : calibrated.families) {
        families[family.family] = {{"steps", family.steps},
                                   {"groups", family.groups},
                                   {"median_without", family.before},
                                   {"median_calibrated", family.after},
                                   {"coverage_90", family.coverage},
                                   {"half_width_90", family.half_width}};
    }
    json["calibrated"] = {{"given", calibrated.given},
                          {"draws", calibrated.draws},
                          {"balanced_without", calibrated.before},
                          {"balanced_calibrated", calibrated.after},
                          {"balanced_coverage_90", calibrated.coverage},
                          {"half_width_90", calibrated.half_width},
                          {"families", families},
                          {"drawn", calibrated.drawn}};
    return json_text(json);
}

}  // namespace orrery
