// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/validation_report.h"

namespace orrery {
namespace {

using ServingJson = nlohmann::ordered_json;

ReportSection rows_section(const ServingValidation& validation) {
    ReportSection section{.title = "Rows",
                          .note = "Seconds, and output tokens a second of all replicas."};
    section.table.columns = {{"case"},
                             {"metric"},
                             {"measured", Unit::number, 4},
                             {"predicted", Unit::number, 4},
                             {"error", Unit::change},
                             {"closed form", Unit::change}};
    for (const ServingMetric& row : validation.rows) {
        section.table.rows.push_back({row.case_name,
                                      row.metric,
                                      row.measured,
                                      row.predicted,
                                      row.error(),
                                      row.control_error()});
    }
    return section;
}

ReportSection errors_section(std::string title, const std::vector<ServingFamilyError>& errors) {
    ReportSection section{.title = std::move(title)};
    section.table.columns = {{"metric"},
                             {"family"},
                             {"rows", Unit::count},
                             {"median error", Unit::share},
                             {"median of signed", Unit::change},
                             {"closed form", Unit::share}};
    for (const ServingFamilyError& of : errors) {
        section.table.rows.push_back({of.metric,
                                      of.family.empty() ? "mean of the families" : of.family,
                                      of.rows,
                                      of.median,
                                      of.bias,
                                      of.control_median});
    }
    return section;
}

ReportSection skipped_section(const ServingValidation& validation) {
    ReportSection section{.title = "Not expressible"};
    std::map<std::pair<std::string, std::string>, std::size_t> reasons;
    for (const SkippedServingCase& skip : validation.skipped) {
        ++reasons[{skip.family, skip.reason}];
    }
    section.table.columns = {{"family"}, {"rows", Unit::count}, {"reason"}};
    for (const auto& [key, rows] : reasons) {
        section.table.rows.push_back({key.first, rows, key.second});
    }
    return section;
}

ServingJson errors_json(const ServingFamilyError& of) {
    return {{"rows", of.rows},
            {"median", of.median},
            {"bias", of.bias},
            {"control_median", of.control_median}};
}

}  // namespace

Report serving_validation_sections(const ServingValidation& validation) {
    Report report{.title = "Predicted and published serving"};
    report.lines = {fmt::format("{} figures of published rows; {} rows cannot be expressed",
                                validation.rows.size(),
                                validation.skipped.size())};
    report.sections = {rows_section(validation),
                       errors_section("Families", validation.families),
                       errors_section("Every family weighing the same", validation.balanced)};
    if (!validation.skipped.empty()) {
        report.sections.push_back(skipped_section(validation));
    }
    report.result = report.sections.front().table;
    return report;
}

std::string serving_validation_json(const ServingValidation& validation) {
    ServingJson rows =
        json_list<ServingJson>(validation.rows, [&](const ServingMetric& row) -> ServingJson {
            return {{"case", row.case_name},
                    {"family", row.family},
                    {"metric", row.metric},
                    {"measured", row.measured},
                    {"predicted", row.predicted},
                    {"control", row.control},
                    {"error", row.error()},
                    {"control_error", row.control_error()}};
        });
    ServingJson skipped = json_list<ServingJson>(
        validation.skipped, [&](const SkippedServingCase& skip) -> ServingJson {
            return {{"case", skip.case_name}, {"family", skip.family}, {"reason", skip.reason}};
        });
    ServingJson families = ServingJson::object();
    for (const ServingFamilyError& of : validation.families) {
        families[of.family][of.metric] = errors_json(of);
    }
    ServingJson overall = ServingJson::object();
    for (const ServingFamilyError& of : validation.balanced) {
        overall[of.metric] = errors_json(of);
    }
    return json_text(ServingJson{
        {"rows", rows}, {"skipped", skipped}, {"families", families}, {"overall", overall}});
}

}  // namespace orrery
