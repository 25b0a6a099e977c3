// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <sstream>
#include <utility>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/report.h"

namespace orrery {
namespace {

constexpr std::size_t kTrack = 42;
constexpr std::size_t kHeatRows = 16;
constexpr std::size_t kNarrowest = 12;  // column of words

// A bar in whole characters; a gain, which ends before it begins, is drawn light.
std::string bar_text(const ReportBar& bar) {
    const auto at = [](double share) {
        return static_cast<std::size_t>(
            std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(kTrack)));
    };
    if (bar.begin == bar.share) {
        return {};
    }
    const std::size_t first = std::min(at(std::min(bar.begin, bar.share)), kTrack - 1);
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

std::vector<TextRow> bar_rows(const std::vector<ReportBar>& bars) {
    std::vector<TextRow> rows;
    for (const ReportBar& bar : bars) {
        rows.push_back({cut(bar.name, 30), bar.text, bar.more, bar_text(bar)});
    }
    return rows;
}

// From nothing (0) to full (1).
std::string shade(double heat) {
    static constexpr const char* kShades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
    return kShades[static_cast<std::size_t>(std::clamp(heat, 0.0, 1.0) * 4 + 0.5)];
}

// A label reads "what: value and words" on pages; a terminal has room for the value.
std::string value_of(const std::string& label) {
    const std::size_t colon = label.find(": ");
    const std::size_t begin = colon == std::string::npos ? 0 : colon + 2;
    return label.substr(begin, label.find(' ', begin) - begin);
}

// All rows if they are few, else the hottest, in their order.
std::string heat_text(const std::vector<PageHeatRow>& rows) {
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

std::vector<bool> right_columns(const ReportTable& table) {
    std::vector<bool> right;
    for (const Column& column : table.columns) {
        right.push_back(is_right(column));
    }
    return right;
}

// Of a cell of words, each at most `width` characters; a longer word goes on in the next line.
std::vector<std::string> lines_of(const std::string& cell, std::size_t width) {
    if (num_characters(cell) <= width) {
        return {cell};
    }
    std::vector<std::string> lines;
    std::istringstream wide{wrapped(cell, width, 0)};
    for (std::string line; std::getline(wide, line);) {
        while (num_characters(line) > width) {
            lines.push_back(cut(line, width));
            line.erase(0, lines.back().size());
        }
        lines.push_back(line);
    }
    return lines;
}

std::size_t longest_word(const std::string& cell) {
    std::istringstream words{cell};
    std::size_t longest = 0;
    for (std::string word; words >> word;) {
        longest = std::max(longest, num_characters(word));
    }
    return longest;
}

// Makes the widest column that has spare characters a character narrower, and again until `all` is
// as wide as a report or none has any. Returns what `all` is then.
std::size_t shrink(std::size_t all,
                   std::vector<std::size_t>& width,
                   std::vector<std::size_t> spare) {
    for (; all > kReportColumns; --all) {
        std::size_t widest = width.size();
        for (std::size_t i = 0; i < width.size(); ++i) {
            if (spare[i] > 0 && (widest == width.size() || width[i] > width[widest])) {
                widest = i;
            }
        }
        if (widest == width.size()) {
            break;
        }
        --width[widest];
        --spare[widest];
    }
    return all;
}

// Widths of the columns: those of words shrink until a line is as wide as a report, between words
// first; those of numbers never do. Where that is not enough, all stay as wide as their cells.
std::vector<std::size_t> column_widths(const std::vector<TextRow>& rows,
                                       const std::vector<bool>& right) {
    std::vector<std::size_t> natural(right.size());
    std::vector<std::size_t> spare(right.size());  // above the longest word
    std::size_t all = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
        std::size_t least = kNarrowest;
        for (const TextRow& row : rows) {
            natural[i] = std::max(natural[i], num_characters(row[i]));
            least = std::max(least, longest_word(row[i]));
        }
        spare[i] = right[i] || natural[i] < least ? 0 : natural[i] - least;
        all += natural[i] + 2;
    }
    std::vector<std::size_t> width = natural;
    all = shrink(all, width, spare);
    for (std::size_t i = 0; i < right.size(); ++i) {
        spare[i] = right[i] || width[i] < kNarrowest ? 0 : width[i] - kNarrowest;
    }
    return shrink(all, width, spare) > kReportColumns ? natural : width;
}

// Words in wide columns take several lines.
std::vector<TextRow> wrapped_rows(const std::vector<TextRow>& rows,
                                  const std::vector<bool>& right) {
    const std::vector<std::size_t> width = column_widths(rows, right);
    std::vector<TextRow> lines;
    for (const TextRow& row : rows) {
        const std::size_t first = lines.size();
        for (std::size_t i = 0; i < right.size(); ++i) {
            const std::vector<std::string> cell = lines_of(row[i], width[i]);
            lines.resize(std::max(lines.size(), first + cell.size()), TextRow(right.size()));
            for (std::size_t k = 0; k < cell.size(); ++k) {
                lines[first + k][i] = cell[k];
            }
        }
    }
    return lines;
}

std::string table_text(const ReportTable& table) {
    if (table.empty() || table.rows.empty()) {
        return {};
    }
    const std::vector<bool> right = right_columns(table);
    return text_table(wrapped_rows(text_rows(table), right), right);
}

std::string section_text(const ReportSection& section) {
    std::string text;
    if (!section.bars.empty()) {
        text += text_table(bar_rows(section.bars), {false, true, true, false});
    }
    text += heat_text(section.heat);
    if (!section.heat.empty() && section.heat_scale.size() == 2) {
        text += fmt::format(
            "  White is {}; full is {}.\n", section.heat_scale[0], section.heat_scale[1]);
    }
    text += table_text(section.table);
    if (text.empty()) {
        return {};  // only a picture
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
    std::string text;
    if (!section.bars.empty()) {
        std::vector<TextRow> rows{{"", "share", ""}};
        for (const ReportBar& bar : section.bars) {
            rows.push_back({bar.name, bar.text, bar.more});
        }
        text += "\n" + markdown_table(rows, {false, true, true});
    }
    if (!section.table.empty() && !section.table.rows.empty()) {
        text += "\n" + markdown_table(text_rows(section.table), right_columns(section.table));
    }
    if (text.empty()) {
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
    text += report.lines.empty() && report.cards.empty() ? "" : "\n";
    for (const std::string& line : report.lines) {
        text += wrapped(line, kReportColumns - 2, 2);
    }
    std::vector<TextRow> figures;
    for (const Figure& figure : report.cards) {
        figures.push_back({figure.what, (figure.bad ? "! " : "") + figure.value});
    }
    if (!figures.empty()) {
        text += (report.lines.empty() ? "" : "\n") + text_table(figures, 2);
    }
    for (const ReportSection& section : report.sections) {
        text += section_text(section);
    }
    return report.footer.empty() ? text : text + "\n" + report.footer + "\n";
}

std::string to_markdown(const Report& report) {
    std::string text = "# " + report.title + "\n";
    for (const std::string& line : report.lines) {
        text += "\n" + line + "\n";
    }
    std::vector<TextRow> figures{{"figure", "value"}};
    for (const Figure& figure : report.cards) {
        figures.push_back({figure.what, figure.value});
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
