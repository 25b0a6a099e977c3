// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/units.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/json_text.h"
#include "scenarios/report/text_table.h"
#include "scenarios/studies/diagnose/modelled_checks.h"

namespace orrery {
namespace {

std::string value_text(double value, const std::string& unit) {
    return unit == "s" ? to_short_text(Time::seconds(value))
                       : fmt::format("{:.1f} {}", value, unit);
}

}  // namespace

std::string checks_text(const ModelledChecks& checks) {
    std::vector<TextRow> rows{{"test", "runs", "failed", "median", "worst", "where"}};
    for (const ModelledCheck& c : checks.tests) {
        rows.push_back({c.test,
                        fmt::format("{}", c.count),
                        fmt::format("{}", c.failed),
                        value_text(c.median, c.unit),
                        value_text(c.worst, c.unit),
                        c.worst_at.empty() ? "" : c.worst_at});
    }
    std::string text = text_table(rows, 1);
    text += checks.suspects.empty() ? "\n  nothing is suspected\n" : "\n  suspected:\n";
    for (const std::string& suspect : checks.suspects) {
        text += "    " + suspect + "\n";
    }
    for (const FaultClass& one : checks.faults) {
        text += fmt::format("{}  {} at {}, {}: {:.1f} expected\n",
                            &one == &checks.faults.front() ? "\n" : "",
                            one.name,
                            one.components,
                            one.when,
                            one.expected);
    }
    return text;
}

std::string checks_json(const ModelledChecks& checks) {
    nlohmann::ordered_json tests = nlohmann::ordered_json::array();
    for (const ModelledCheck& c : checks.tests) {
        tests.push_back({{"test", c.test},
                         {"unit", c.unit},
                         {"runs", c.count},
                         {"failed", c.failed},
                         {"median", c.median},
                         {"worst", c.worst},
                         {"worst_at", c.worst_at}});
    }
    const nlohmann::ordered_json json{
        {"tests", tests},
        {"suspects", checks.suspects},
        {"fault_classes", nlohmann::ordered_json::parse(fault_classes_json(checks.faults))}};
    return json_text(json);
}

}  // namespace orrery
