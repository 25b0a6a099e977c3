// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <utility>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/render/column_layout.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"

namespace orrery {
namespace {

constexpr std::size_t kTrack = 42;
constexpr std::size_t kHeatRows = 16;
constexpr std::size_t kWidestName = 52;

// A bar in whole characters. A gain ends before it begins and is drawn light.
std::string bar_text(const ReportBar& bar, std::size_t track) {
    const auto at = [track](double share) {
        return static_cast<std::size_t>(
            std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(track)));
    };
    if (bar.begin == bar.share) {
        return {};
    }
    const std::size_t first = std::min(at(std::min(bar.begin, bar.share)), track - 1);
    const std::size_t last = at(std::max(bar.begin, bar.share));
    std::string text(first, ' ');
    if (last <= first) {
        return text + "▏";
    }
    for (std::size_t i = first; i < last; ++i) {
        text += bar.begin < bar.share ? "█" : "░";
    }
    return text;
}

// The track fills the width that the words leave.
std::vector<TextRow> bar_rows(const std::vector<ReportBar>& bars) {
    std::size_t widths[3] = {};
    for (const ReportBar& bar : bars) {
        const std::string words[] = {cut(bar.name, kWidestName), bar.text, bar.more};
        for (std::size_t i = 0; i < 3; ++i) {
            widths[i] = std::max(widths[i], num_characters(words[i]));
        }
    }
    const std::size_t before = widths[0] + widths[1] + widths[2] + 8;
    const std::size_t track =
        std::clamp<std::size_t>(kReportColumns - std::min(before, kReportColumns), 8, kTrack);
    std::vector<TextRow> rows;
    for (const ReportBar& bar : bars) {
        rows.push_back({cut(bar.name, kWidestName), bar.text, bar.more, bar_text(bar, track)});
    }
    return rows;
}

// Shade of a share: 0 is empty, 1 is full.
std::string shade(double heat) {
    static constexpr const char* kShades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
    return kShades[static_cast<std::size_t>(std::clamp(heat, 0.0, 1.0) * 4 + 0.5)];
}

// A label of a page reads "name: value and words". A terminal only has room for the value.
std::string value_of(const std::string& label) {
    const std::size_t colon = label.find(": ");
    const std::size_t begin = colon == std::string::npos ? 0 : colon + 2;
    return label.substr(begin, label.find(' ', begin) - begin);
}

// All rows if they are few, else the hottest ones, in their order. Cells without labels are only
// for pages, because a terminal cannot show their values.
std::string heat_text(const std::vector<PageHeatRow>& rows) {
    if (std::ranges::all_of(rows, [](const PageHeatRow& row) { return row.labels.empty(); })) {
        return {};
    }
    const auto hottest = [&](std::size_t row) {
        const std::vector<double>& values = rows[row].values;
        return values.empty() ? 0 : *std::ranges::max_element(values);
    };
    std::vector<std::size_t> shown(rows.size());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
    if (shown.size() > kHeatRows) {
        std::ranges::stable_sort(shown, std::ranges::greater{}, hottest);
        shown.resize(kHeatRows);
        std::ranges::sort(shown);
    }
    std::string text;
    for (const std::size_t i : shown) {
        text += fmt::format("  {:<11}", rows[i].name);
        for (std::size_t k = 0; k < rows[i].values.size(); ++k) {
            const std::string label = k < rows[i].labels.size() ? value_of(rows[i].labels[k]) : "";
            text += fmt::format(" {}{:>5}", shade(rows[i].values[k]), label);
        }
        text += "\n";
    }
    return rows.size() > shown.size()
               ? text + fmt::format("  and {} rows more, none of them hotter\n",
                                    rows.size() - shown.size())
               : text;
}

// Each curve as blocks between the chart's least and greatest value.
std::string curves_text(const PageChart& chart) {
    static constexpr const char* kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const PageSeries& series : chart.series) {
        for (const std::optional<double>& value : series.values) {
            least = value ? std::min(least, *value) : least;
            most = value ? std::max(most, *value) : most;
        }
    }
    if (!chart.lines || least > most) {
        return {};
    }
    std::string text;
    for (const PageSeries& series : chart.series) {
        text += chart.series.size() > 1 ? fmt::format("  {}\n", cut(series.name, 60)) : "";
        text += "  ";
        for (const std::optional<double>& value : series.values) {
            const double level = value && most > least ? (*value - least) / (most - least) : 1;
            text += value ? kLevels[static_cast<std::size_t>(std::lround(level * 7))] : " ";
        }
        text += "\n";
    }
    const bool share = chart.y.unit == "share";
    const auto figure = [&](double value) {
        return cell_text(value, share ? Unit::share : Unit::number);
    };
    return text + fmt::format("  {} from {} to {}, over {:.3g} {}\n",
                              chart.y.title,
                              figure(least),
                              figure(most),
                              chart.xs.back(),
                              chart.x.unit.empty() ? chart.x.title : chart.x.unit);
}

std::vector<bool> right_columns(const ReportTable& table) {
    std::vector<bool> right;
    for (const Column& column : table.columns) {
        right.push_back(is_right(column));
    }
    return right;
}

// Words in wide columns take several lines. `ends` gets the number of lines up to the end of each
// row.
std::vector<TextRow> wrapped_rows(const std::vector<TextRow>& rows,
                                  const std::vector<std::size_t>& width,
                                  std::vector<std::size_t>& ends) {
    std::vector<TextRow> lines;
    for (const TextRow& row : rows) {
        const std::size_t first = lines.size();
        for (std::size_t i = 0; i < width.size(); ++i) {
            const std::vector<std::string> cell = cell_lines(row[i], width[i]);
            lines.resize(std::max(lines.size(), first + cell.size()), TextRow(width.size()));
            for (std::size_t k = 0; k < cell.size(); ++k) {
                lines[first + k][i] = cell[k];
            }
        }
        ends.push_back(lines.size());
    }
    return lines;
}

// The rows and columns that a terminal shows.
ReportTable on_terminal(const ReportTable& table) {
    ReportTable narrow;
    const std::size_t rows =
        table.shown == 0 ? table.rows.size() : std::min(table.shown, table.rows.size());
    narrow.rows.resize(rows);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (!table.columns[i].page_only) {
            narrow.columns.push_back(table.columns[i]);
            for (std::size_t k = 0; k < rows; ++k) {
                narrow.rows[k].push_back(table.rows[k][i]);
            }
        }
    }
    return narrow;
}

// A row may take several lines. Its note follows the last of them.
std::string table_text(const ReportTable& whole) {
    if (whole.empty() || whole.rows.empty()) {
        return {};
    }
    const ReportTable table = on_terminal(whole);
    if (table.empty()) {
        return {};
    }
    const std::vector<bool> right = right_columns(table);
    const std::vector<TextRow> rows = text_rows(table);
    const ColumnLayout layout = column_layout(rows, right);
    std::vector<std::size_t> ends;
    const std::vector<TextRow> lines = wrapped_rows(rows, layout.width, ends);
    std::istringstream drawn{text_table(lines, right, layout.gap)};
    std::string text;
    std::size_t row = 0;
    std::size_t line = 0;
    for (std::string one; std::getline(drawn, one);) {
        text += one + "\n";
        if (++line == ends[row]) {
            if (row > 0 && row <= whole.notes.size()) {
                text += wrapped(whole.notes[row - 1], kReportColumns - 2, 6);
            }
            ++row;
        }
    }
    const std::size_t more = whole.rows.size() - table.rows.size();
    return more == 0 ? text : text + fmt::format("  and {} {}\n", more, whole.rest);
}

// Names, with the values below each other. A value that exceeds its line continues below its
// beginning.
std::string facts_text(const std::vector<ReportFact>& facts) {
    std::size_t widest = 0;
    for (const ReportFact& fact : facts) {
        widest = std::max(widest, num_characters(cut(fact.name, kWidestName)));
    }
    std::vector<TextRow> rows;
    for (const ReportFact& fact : facts) {
        std::string name = cut(fact.name, kWidestName);
        for (std::string& line : cell_lines(fact.value, kReportColumns - widest - 4)) {
            rows.push_back({std::exchange(name, {}), std::move(line)});
        }
    }
    return text_table(rows, 2);
}

std::string section_text(const ReportSection& section) {
    std::string text = facts_text(section.facts);
    if (!section.bars.empty()) {
        text += text_table(bar_rows(section.bars), {false, true, true, false});
    }
    text += section.chart ? curves_text(*section.chart) : "";
    const std::string heat = heat_text(section.heat);
    text += heat;
    if (!heat.empty() && section.heat_scale.size() == 2) {
        text += fmt::format(
            "  White is {}; full is {}.\n", section.heat_scale[0], section.heat_scale[1]);
    }
    text += table_text(section.table);
    if (text.empty() && section.after.empty()) {
        return {};  // drawn as a picture only
    }
    for (const std::string& line : section.after) {
        text += wrapped(line, kReportColumns - 2, 2);
    }
    const std::string note = wrapped(section.note, kReportColumns - 2, 2);
    return fmt::format("\n{}\n\n{}{}", section.title, text, note);
}

std::string escaped_cell(const std::string& text) {
    std::string out;
    for (const char c : text) {
        out += c == '|' ? "\\|" : std::string(1, c);
    }
    return out;
}

std::string markdown_row(const TextRow& row) {
    std::string text = "|";
    for (const std::string& cell : row) {
        text += " " + escaped_cell(cell) + " |";
    }
    return text + "\n";
}

std::string markdown_facts(const std::vector<ReportFact>& facts) {
    std::string text = facts.empty() ? "" : "\n";
    for (const ReportFact& fact : facts) {
        text += fmt::format("- {}: {}\n", fact.name, fact.value);
    }
    return text;
}

std::string markdown_table(const std::vector<TextRow>& rows, const std::vector<bool>& right) {
    std::string text = markdown_row(rows.front()) + "|";
    for (const bool one : right) {
        text += one ? "---:|" : "---|";
    }
    text += "\n";
    for (std::size_t i = 1; i < rows.size(); ++i) {
        text += markdown_row(rows[i]);
    }
    return text;
}

std::string markdown_section(const ReportSection& section) {
    std::string text = markdown_facts(section.facts);
    if (!section.bars.empty()) {
        std::vector<TextRow> rows{{"", "", ""}};
        for (const ReportBar& bar : section.bars) {
            rows.push_back({bar.name, bar.text, bar.more});
        }
        text += "\n" + markdown_table(rows, {false, true, true});
    }
    if (!section.table.empty() && !section.table.rows.empty()) {
        const ReportTable table = with_notes(section.table);
        text += "\n" + markdown_table(text_rows(table), right_columns(table));
    }
    if (text.empty() && section.after.empty()) {
        return {};
    }
    for (const std::string& line : section.after) {
        text += "\n" + line + "\n";
    }
    return fmt::format("\n## {}\n{}{}",
                       section.title,
                       text,
                       section.note.empty() ? "" : "\n" + section.note + "\n");
}

std::string quoted_field(const std::string& field) {
    if (field.find_first_of(",\"\n\r") == std::string::npos) {
        return field;
    }
    std::string text = "\"";
    for (const char c : field) {
        text += c == '"' ? "\"\"" : std::string(1, c);
    }
    return text + "\"";
}

std::string csv_head(const Column& column) {
    switch (column.unit) {
        case Unit::seconds:
        case Unit::wall_time:
            return column.title + " [s]";
        case Unit::bytes:
            return column.title + " [bytes]";
        case Unit::rate:
            return column.title + " [bytes/s]";
        case Unit::words:
        case Unit::number:
        case Unit::count:
        case Unit::share:
        case Unit::change:
            break;
    }
    return column.title;
}

}  // namespace

std::string to_text(const Report& report) {
    std::string text = cut(report.title, kReportColumns) + "\n";
    const auto add = [&](const std::string& part) { text += part.empty() ? "" : "\n" + part; };
    add(facts_text(report.facts));
    std::string lines;
    for (const std::string& line : report.lines) {
        lines += wrapped(line, kReportColumns - 2, 2);
    }
    add(lines);
    std::vector<TextRow> figures;
    for (const Figure& figure : report.cards) {
        figures.push_back({figure.what, (figure.bad ? "! " : "") + figure.value, figure.more});
    }
    add(figures.empty() ? "" : text_table(figures, 3));
    for (const ReportSection& section : report.sections) {
        text += section_text(section);
    }
    std::string footer;
    std::istringstream footer_lines{report.footer};
    for (std::string line; std::getline(footer_lines, line);) {
        footer += wrapped(line, kReportColumns, 0);
    }
    add(footer);
    return text;
}

std::string to_markdown(const Report& report) {
    std::string text = "# " + report.title + "\n" + markdown_facts(report.facts);
    for (const std::string& line : report.lines) {
        text += "\n" + line + "\n";
    }
    std::vector<TextRow> figures{{"figure", "value"}};
    for (const Figure& figure : report.cards) {
        figures.push_back({figure_words(figure), figure.value});
    }
    if (figures.size() > 1) {
        text += "\n" + markdown_table(figures, {false, true});
    }
    for (const ReportSection& section : report.sections) {
        text += markdown_section(section);
    }
    return report.footer.empty() ? text : text + "\n" + report.footer + "\n";
}

std::string to_csv(const ReportTable& table) {
    std::string text;
    for (const Column& column : table.columns) {
        text += (text.empty() ? "" : ",") + quoted_field(csv_head(column));
    }
    text += "\n";
    for (const std::vector<Cell>& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const auto* number = std::get_if<double>(&row[i].value);
            const bool whole = table.columns[i].unit == Unit::count;
            const std::string field = number == nullptr ? cell_text(row[i], Unit::words)
                                      : whole           ? fmt::format("{:.0f}", *number)
                                                        : fmt::format("{}", *number);
            text += (i == 0 ? "" : ",") + quoted_field(field);
        }
        text += "\n";
    }
    return text;
}

std::string to_csv(const Report& report) {
    if (!report.result.empty()) {
        return to_csv(report.result);
    }
    for (const ReportSection& section : report.sections) {
        if (!section.table.empty()) {
            return to_csv(section.table);
        }
    }
    return {};
}

}  // namespace orrery
