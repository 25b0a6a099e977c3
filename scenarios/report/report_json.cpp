// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/report_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "scenarios/report/json_text.h"

namespace orrery {
namespace {

nlohmann::ordered_json cell_json(const Cell& cell) {
    if (const auto* words = std::get_if<std::string>(&cell.value)) {
        return *words;
    }
    const auto* number = std::get_if<double>(&cell.value);
    return number == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(*number);
}

nlohmann::ordered_json rows_json(const ReportTable& table) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const std::vector<Cell>& cells : table.rows) {
        nlohmann::ordered_json row = nlohmann::ordered_json::object();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            row[table.columns[i].title] = cell_json(cells[i]);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

std::string to_json(const Report& report) {
    nlohmann::ordered_json figures = nlohmann::ordered_json::object();
    for (const Figure& figure : report.cards) {
        figures[figure.what] = figure.value;
    }
    nlohmann::ordered_json sections = nlohmann::ordered_json::array();
    for (const ReportSection& section : report.sections) {
        sections.push_back({{"title", section.title}, {"rows", rows_json(section.table)}});
    }
    return json_text(nlohmann::ordered_json{
        {"title", report.title}, {"figures", figures}, {"sections", sections}});
}

}  // namespace orrery
