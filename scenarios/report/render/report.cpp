// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/report.h"

#include <fmt/format.h>

#include <cmath>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/report/render/report_words.h"

namespace orrery {
namespace {

std::string number_text(double value, Unit unit, int digits) {
    switch (unit) {
        case Unit::words:
        case Unit::number:
            return fmt::format("{:.{}f}", value, digits);
        case Unit::count:
            return thousands(std::llround(value));
        case Unit::seconds:
            return to_short_text(Time::seconds(value));
        case Unit::wall_time:
            return to_short_text(WallTime::seconds(value));
        case Unit::bytes:
            return to_short_text(Bytes{std::llround(value)});
        case Unit::rate:
            return fmt::format("{:.{}f} GB/s", value * 1e-9, digits);
        case Unit::share:
            return fmt::format("{:.{}f} %", value * 100, digits);
        case Unit::change:
            break;
    }
    return signed_text(value * 100, digits) + " %";
}

}  // namespace

std::string cell_text(const Cell& cell, Unit unit, int digits) {
    if (const auto* words = std::get_if<std::string>(&cell.value)) {
        return *words;
    }
    const auto* number = std::get_if<double>(&cell.value);
    return number == nullptr ? std::string{} : number_text(*number, unit, digits);
}

bool is_right(const Column& column) {
    return column.right || column.unit != Unit::words;
}

ReportTable with_notes(const ReportTable& table) {
    ReportTable wide = table;
    if (!table.notes.empty()) {
        wide.columns.push_back({"notes"});
        for (std::size_t i = 0; i < wide.rows.size(); ++i) {
            wide.rows[i].emplace_back(table.notes[i]);
        }
    }
    return wide;
}

std::string figure_words(const Figure& figure) {
    return figure.what + (figure.more.empty() ? "" : ", " + figure.more);
}

std::vector<TextRow> text_rows(const ReportTable& table) {
    std::vector<TextRow> rows(1);
    for (const Column& column : table.columns) {
        rows.front().push_back(column.title);
    }
    for (const std::vector<Cell>& cells : table.rows) {
        TextRow& row = rows.emplace_back();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            row.push_back(cell_text(cells[i], table.columns[i].unit, table.columns[i].digits));
        }
    }
    return rows;
}

ReportTable words_table(std::vector<TextRow> rows, std::size_t left) {
    ReportTable table;
    for (std::size_t i = 0; !rows.empty() && i < rows.front().size(); ++i) {
        table.columns.push_back({.title = rows.front()[i], .right = i >= left});
    }
    for (std::size_t i = 1; i < rows.size(); ++i) {
        table.rows.emplace_back(rows[i].begin(), rows[i].end());
    }
    return table;
}

}  // namespace orrery
