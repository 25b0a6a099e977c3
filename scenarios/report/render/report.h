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

#include "engine/base/units.h"
#include "scenarios/report/render/text_table.h"

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

// A mean or a time of nothing is zero: its cell is empty.
inline Cell known_cell(double value) {
    return value > 0 ? Cell{value} : Cell{};
}

struct Column {
    std::string title;
    Unit unit = Unit::words;
    int digits = 1;
    bool right = false;      // words that are numbers
    bool page_only = false;  // a terminal is too narrow for it
};

struct ReportTable {
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows{};
    // A terminal shows the first rows, and counts the rest: "and 5 smaller ones". Zero: all rows.
    std::size_t shown = 0;
    std::string rest = "more";
    // What else there is to say of a row: below it on a terminal, else in a last column. None, or
    // one for each row.
    std::vector<std::string> notes{};

    bool empty() const { return columns.empty(); }
};

// Rows of words; the first is the head. The columns behind the first `left` are right-aligned.
ReportTable words_table(std::vector<TextRow> rows, std::size_t left = 1);

// "44.8 %". Of an empty cell nothing.
std::string cell_text(const Cell& cell, Unit unit, int digits = 1);
// With the head.
std::vector<TextRow> text_rows(const ReportTable& table);
bool is_right(const Column& column);
// With the notes as a last column, if there are any.
ReportTable with_notes(const ReportTable& table);

// One number of the answer, in words.
struct Figure {
    std::string value;
    std::string what;
    bool bad = false;
    std::string more{};  // "± 3.2 %"
};

// "iteration time, ± 3.2 %".
std::string figure_words(const Figure& figure);

// A name with what it stands for: "cluster", "16 GPUs …".
struct ReportFact {
    std::string name;
    std::string value;
};

struct ReportBar {
    std::string name;
    std::string text;
    std::string more;
    double share = 0;    // of the track: where the bar ends
    double begin = 0;    // where it begins
    std::string help{};  // what the name means, on a page
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
    std::vector<std::string> labels{};  // of the values, which the read-out names; or none
};
struct PageChart {
    PageAxis x;
    PageAxis y;
    bool log = false;        // the x axis
    std::vector<double> xs;  // ascending
    std::vector<PageSeries> series;
    bool stacked = false;  // each series on top of the ones before it
    bool lines = false;    // a terminal draws each series as a line of blocks
};

struct PageHeatRow {
    std::string name;
    std::vector<double> values;  // 0 … 1
    std::vector<std::string> labels{};  // what a page says at each value, or nothing
    std::vector<std::string> cells{};   // names of the values of a map of shares, or nothing
};

struct PageSpan {
    std::size_t kind = 0;  // index into kinds
    std::int64_t begin = 0;
    std::int64_t length = 0;
    std::size_t name = 0;           // index into names, if there are any
    std::int32_t micro_batch = -1;  // or -1
};
struct PageLane {
    std::string name;
    std::vector<PageSpan> spans{};
    std::string owner{};  // lanes of one owner stand together; the first of them names it
    bool first = false;
};
struct PageTimeline {
    double scale = 1;  // a unit of time in seconds
    std::vector<std::string> kinds;
    std::vector<PageLane> lanes;
    std::vector<std::string> names{};  // of spans; empty: of their kinds
};

// Any of its parts.
struct ReportSection {
    std::string title;
    std::string note{};
    std::vector<ReportFact> facts{};
    std::vector<ReportBar> bars{};
    bool stacked = false;  // a page draws the bars as parts of one; a share of 1 is marked in it
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
    std::string footer;               // lines
    std::vector<ReportFact> facts{};  // stand above the lines
    ReportTable result{};             // of one row or more: the figures with their units, for CSV
};

std::string to_html(const Report& report);
// At most 100 columns wide; without timelines, and without curves and heat maps that need a page.
std::string to_text(const Report& report);
std::string to_markdown(const Report& report);
// `result`, or the first table if there is none: a head with units, and the values themselves.
std::string to_csv(const Report& report);
std::string to_csv(const ReportTable& table);

// The JSON of a command that has no object of its own: its report.
// {"title", "figures": {WHAT: VALUE}, "sections": [{"title", "rows": [{COLUMN: VALUE}]}]}, with the
// values of cells in seconds, bytes and shares of 1.
std::string to_json(const Report& report);

}  // namespace orrery
