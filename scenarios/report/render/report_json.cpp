// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json cell_json(const Cell& cell) {
    if (const auto* words = std::get_if<std::string>(&cell.value)) {
        return *words;
    }
    const auto* number = std::get_if<double>(&cell.value);
    return number == nullptr ? Json() : Json(*number);
}

Json rows_json(const ReportTable& table) {
    Json rows = Json::array();
    for (const std::vector<Cell>& cells : table.rows) {
        Json row = Json::object();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            row[table.columns[i].title] = cell_json(cells[i]);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

std::string to_json(const Report& report) {
    Json figures = Json::object();
    for (const Figure& figure : report.cards) {
        figures[figure.what] = figure.value;
    }
    Json sections = json_list<Json>(report.sections, [&](const ReportSection& section) -> Json {
        return {{"title", section.title}, {"rows", rows_json(section.table)}};
    });
    return json_text(Json{{"title", report.title}, {"figures", figures}, {"sections", sections}});
}

}  // namespace orrery
