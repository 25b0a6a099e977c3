// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/checks_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/units.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

std::string value_text(double value, const std::string& unit) {
    return unit == "s" ? to_short_text(Time::seconds(value))
                       : fmt::format("{:.1f} {}", value, unit);
}

}  // namespace

Report checks_sections(const ModelledChecks& checks) {
    Report report{.title = "Pre-flight checks"};
    report.cards = {{checks.suspects.empty() ? "none" : fmt::format("{}", checks.suspects.size()),
                     "suspected",
                     !checks.suspects.empty()}};
    ReportSection tests{.title = "Tests"};
    tests.table.columns = {{"test"},
                           {"runs", Unit::count},
                           {"failed", Unit::count},
                           {.title = "median", .right = true},
                           {.title = "worst", .right = true},
                           {"where"}};
    for (const ModelledCheck& c : checks.tests) {
        tests.table.rows.push_back({c.test,
                                    c.count,
                                    c.failed,
                                    value_text(c.median, c.unit),
                                    value_text(c.worst, c.unit),
                                    c.worst_at});
    }
    report.sections = {std::move(tests)};
    if (!checks.suspects.empty()) {
        ReportSection suspects{.title = "Suspected", .table = {.columns = {{"where"}, {"what"}}}};
        for (const std::string& suspect : checks.suspects) {
            const std::size_t colon = suspect.find(": ");
            suspects.table.rows.push_back(
                {suspect.substr(0, colon),
                 colon == std::string::npos ? "" : suspect.substr(colon + 2)});
        }
        report.sections.push_back(std::move(suspects));
    }
    if (!checks.faults.empty()) {
        report.sections.push_back(fault_classes_section(checks.faults, "the step"));
    }
    return report;
}

std::string checks_json(const ModelledChecks& checks) {
    Json tests = json_list<Json>(checks.tests, [&](const ModelledCheck& c) -> Json {
        return {{"test", c.test},
                {"unit", c.unit},
                {"runs", c.count},
                {"failed", c.failed},
                {"median", c.median},
                {"worst", c.worst},
                {"worst_at", c.worst_at}};
    });
    const Json json{{"tests", tests},
                    {"suspects", checks.suspects},
                    {"fault_classes", Json::parse(fault_classes_json(checks.faults))}};
    return json_text(json);
}

}  // namespace orrery
