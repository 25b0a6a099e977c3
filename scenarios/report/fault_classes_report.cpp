// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/fault_classes_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/text_table.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kClassesListed = 24;

// Rows of the table, the head first.
std::vector<TextRow> fault_class_rows(const std::vector<FaultClass>& classes,
                                      const std::string& of) {
    std::vector<TextRow> rows{{"class", "can strike", "when", "expected in " + of}};
    for (const FaultClass& one : classes) {
        rows.push_back({cut(one.name, 30),
                        one.components,
                        one.when,
                        fmt::format("{:.1f} {}", one.expected, one.stops ? "stops" : "faults")});
    }
    return rows;
}

// Assumptions of the expected numbers; empty if there are none.
std::string assumption_of(const std::vector<FaultClass>& classes) {
    return std::ranges::any_of(classes, &FaultClass::from_new)
               ? "Weibull and lognormal components are new at the start and after each fault."
               : "";
}

}  // namespace

ReportSection fault_classes_section(const std::vector<FaultClass>& classes, const std::string& of) {
    ReportSection section{.title = "What can fail",
                          .note = assumption_of(classes),
                          .table = words_table(fault_class_rows(classes, of), 3)};
    section.table.shown = kClassesListed;
    section.table.rest = "more classes";
    return section;
}

std::string fault_classes_json(const std::vector<FaultClass>& classes) {
    Json list = json_list<Json>(classes, [&](const FaultClass& one) -> Json {
        return {{"class", one.name},
                {"kind", name(one.kind)},
                {"components", one.population},
                {"of", one.components},
                {"when", one.when},
                {"expected", one.expected},
                {"stops_the_job", one.stops}};
    });
    return json_line(list);
}

}  // namespace orrery
