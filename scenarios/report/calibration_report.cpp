// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/calibration_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/json_text.h"

namespace orrery {
namespace {

std::string calibrated_line(const std::string& name, const CalibratedFamily& family) {
    return fmt::format("{:<26}{:>6}{:>11.1f}%{:>11.1f}%{:>11.0f}%{:>11.1f}%\n",
                       cut(name, 25),
                       family.steps,
                       family.before * 100,
                       family.after * 100,
                       family.coverage * 100,
                       family.half_width * 100);
}

}  // namespace

std::string calibration_report(const CalibratedValidation& validation) {
    if (validation.families.empty()) {
        return fmt::format(
            "No family has more than {} steps that can be simulated: none is left to predict.\n",
            validation.given);
    }
    std::string text = fmt::format("{:<26}{:>6}{:>12}{:>12}{:>12}{:>12}\n\n",
                                   "family",
                                   "steps",
                                   "without",
                                   "calibrated",
                                   "inside",
                                   "90 %");
    CalibratedFamily all{.before = validation.before,
                         .after = validation.after,
                         .coverage = validation.coverage,
                         .half_width = validation.half_width};
    for (const CalibratedFamily& family : validation.families) {
        text += calibrated_line(family.family, family);
        all.steps += family.steps;
    }
    return text + "\n" + calibrated_line("mean of the families", all) +
           fmt::format(
               "\nMeasured times of {} step{} of each software version and device generation of a\n"
               "family are given, drawn {} time{}. without, calibrated = median error of the\n"
               "other steps; inside = share of them in their 90 % interval, 90 % = half width of\n"
               "that interval.\n",
               validation.given,
               validation.given == 1 ? "" : "s",
               validation.draws,
               validation.draws == 1 ? "" : "s");
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
