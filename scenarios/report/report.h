// SPDX-License-Identifier: Apache-2.0
// What a command shows of an answer, whatever the form: a title, figures, and sections of
// paragraphs, tables with typed columns, bars, curves, heat maps and timelines. A builder makes a
// Report of a study's plain structs (report/study_sections.h); to_html, to_text, to_markdown and
// to_csv draw it. A section that is added to a builder is in every form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/units.h"
#include "scenarios/report/text_table.h"

namespace orrery {

// Of a value: how people read it, and what CSV calls it. Cells hold seconds, bytes, bytes a second,
// and shares of 1.
enum class Unit : std::uint8_t {
    words,
    number,     // with `digits` behind the point
    count,      // "12,288"
    seconds,    // "1.31 s", of a step
    wall_time,  // "3.2 d": seconds of a campaign
    bytes,      // "8.46 GiB"
    rate,       // bytes a second: "48.2 GB/s"
    share,      // "44.8 %"
    change,     // "+3.2 %", a share with its sign
};

// Nothing, words, or a value in the unit of its column.
struct Cell {
    std::variant<std::monostate, std::string, double> value;

    Cell() = default;
    Cell(std::string words) : value(std::move(words)) {}
    Cell(const char* words) : value(std::string{words}) {}
    Cell(std::string_view words) : value(std::string{words}) {}
    template <class Number>
    requires std::is_arithmetic_v<Number> Cell(Number number)
        : value(static_cast<double>(number)) {}
    Cell(Time time) : value(time.seconds()) {}
    Cell(Bytes bytes) : value(static_cast<double>(bytes.count())) {}
    bool empty() const { return std::holds_alternative<std::monostate>(value); }
};

struct Column {
    std::string title;
    Unit unit = Unit::words;
    int digits = 1;
    bool right = false;  // words that are numbers
};

struct ReportTable {
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows{};

    bool empty() const { return columns.empty(); }
};

// Rows of words; the first is the head. The columns behind the first `left` are right-aligned.
ReportTable words_table(std::vector<TextRow> rows, std::size_t left = 1);

// "44.8 %". Of an empty cell nothing.
std::string cell_text(const Cell& cell, Unit unit, int digits = 1);
// With the head.
std::vector<TextRow> text_rows(const ReportTable& table);
bool is_right(const Column& column);

// One number of the answer, in words.
struct Figure {
    std::string value;
    std::string what;
    bool bad = false;
};

struct ReportBar {
    std::string name;
    std::string text;
    std::string more;
    double share = 0;  // of the track: where the bar ends
    double begin = 0;  // where it begins
};

// Units: "", "s", "bytes", "share", "days", "GB/s".
struct PageAxis {
    std::string title;
    std::string unit;
};
struct PageSeries {
    std::string name;
    std::vector<std::optional<double>> values;  // as many as the chart has xs
    bool points = false;
};
struct PageChart {
    PageAxis x;
    PageAxis y;
    bool log = false;        // the x axis
    std::vector<double> xs;  // ascending
    std::vector<PageSeries> series;
};

struct PageHeatRow {
    std::string name;
    std::vector<double> values;  // 0 … 1
    std::vector<std::string> labels{};
};

struct PageSpan {
    std::size_t kind = 0;  // index into kinds
    std::int64_t begin = 0;
    std::int64_t length = 0;
};
struct PageLane {
    std::string name;
    std::vector<PageSpan> spans;
};
struct PageTimeline {
    double scale = 1;  // a unit of time in seconds
    std::vector<std::string> kinds;
    std::vector<PageLane> lanes;
};

// Any of its parts.
struct ReportSection {
    std::string title;
    std::string note{};
    std::vector<ReportBar> bars{};
    std::optional<PageChart> chart{};
    std::vector<PageHeatRow> heat{};
    std::vector<std::string> heat_scale{};  // what 0 and 1 stand for; shares of use if empty
    std::optional<PageTimeline> timeline{};
    ReportTable table{};
    std::vector<std::string> after{};  // sentences below the table
};

struct Report {
    std::string title;
    std::vector<std::string> lines;
    std::vector<Figure> cards;
    std::vector<ReportSection> sections;
    std::string footer;
    ReportTable result{};  // of one row or more: the figures with their units, for CSV
};

std::string to_html(const Report& report);
// At most 100 columns wide; without curves and timelines.
std::string to_text(const Report& report);
std::string to_markdown(const Report& report);
// `result`, or the first table if there is none: a head with units, and the values themselves.
std::string to_csv(const Report& report);
std::string to_csv(const ReportTable& table);

}  // namespace orrery
