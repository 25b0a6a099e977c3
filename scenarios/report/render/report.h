// SPDX-License-Identifier: Apache-2.0
// The form-independent answer of a command: a title, figures, and sections of paragraphs, tables
// with typed columns, bars, curves, heat maps and timelines. A builder makes a Report from a
// study's plain structs (report/study_sections.h); to_html, to_text, to_markdown and to_csv draw
// it. A section that is added to a builder appears in every form.
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

// The unit of a value: its form for people, and its name in CSV. Cells hold seconds, bytes, bytes a
// second, and shares of 1.
enum class Unit : std::uint8_t {
    words,
    number,     // with `digits` decimals
    count,      // "12,288"
    seconds,    // "1.31 s", of a step
    wall_time,  // "3.2 d": seconds of a campaign
    bytes,      // "8.46 GiB"
    rate,       // bytes a second: "48.2 GB/s"
    share,      // "44.8 %"
    change,     // "+3.2 %", a share with its sign
};

// Empty, words, or a value in the unit of its column.
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

// An empty cell for 0, which means that there was nothing to measure.
inline Cell known_cell(double value) {
    return value > 0 ? Cell{value} : Cell{};
}

struct Column {
    std::string title;
    Unit unit = Unit::words;
    int digits = 1;
    bool right = false;      // right-aligned words (numbers in words)
    bool page_only = false;  // a terminal is too narrow for this column
};

struct ReportTable {
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows{};
    // A terminal shows this number of rows, and counts the rest: "and 5 smaller ones". Zero: all
    // rows.
    std::size_t shown = 0;
    std::string rest = "more";
    // A remark on each row: below the row on a terminal, in a last column elsewhere. Empty, or one
    // for each row.
    std::vector<std::string> notes{};

    bool empty() const { return columns.empty(); }
};

// Rows of words; the first is the head. All columns after the first `left` are right-aligned.
ReportTable words_table(std::vector<TextRow> rows, std::size_t left = 1);

// "44.8 %"; empty for an empty cell.
std::string cell_text(const Cell& cell, Unit unit, int digits = 1);
// Includes the head.
std::vector<TextRow> text_rows(const ReportTable& table);
bool is_right(const Column& column);
// The table with the notes as a last column, if there are any.
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

// A named fact: "cluster", "16 GPUs …".
struct ReportFact {
    std::string name;
    std::string value;
};

struct ReportBar {
    std::string name;
    std::string text;
    std::string more;
    double share = 0;    // length of the bar, as a share of the track
    double begin = 0;    // beginning of the bar
    std::string help{};  // meaning of the name, for a page
};

// Units: "", "s", "bytes", "share", "days", "GB/s".
struct PageAxis {
    std::string title;
    std::string unit;
};
struct PageSeries {
    std::string name;
    std::vector<std::optional<double>> values;  // one for each x of the chart
    bool points = false;
    std::vector<std::string> labels{};  // names of the values for the read-out, or empty
};
// A line across a chart that its curves should stay below.
struct PageLimit {
    std::string name;
    double value = 0;
};

struct PageChart {
    PageAxis x;
    PageAxis y;
    bool log = false;        // the x axis
    std::vector<double> xs;  // ascending
    std::vector<PageSeries> series;
    bool stacked = false;  // each series is drawn on top of the previous ones
    bool lines = false;    // a terminal draws each series as a line of blocks
    std::optional<PageLimit> limit{};
};

struct PageHeatRow {
    std::string name;
    std::vector<double> values;  // 0 … 1
    std::vector<std::string> labels{};  // texts of a page for each value, or empty
    std::vector<std::string> cells{};   // names of the values in a map of shares, or empty
};

struct PageSpan {
    std::size_t kind = 0;  // index into kinds
    std::int64_t begin = 0;
    std::int64_t length = 0;
    std::size_t name = 0;           // index into names; unused if names is empty
    std::int32_t micro_batch = -1;  // or -1
};
struct PageLane {
    std::string name;
    std::vector<PageSpan> spans{};
    std::string owner{};  // lanes of one owner are adjacent; the first one shows its name
    bool first = false;
};
struct PageTimeline {
    double scale = 1;  // unit of time in seconds
    std::vector<std::string> kinds;
    std::vector<PageLane> lanes;
    std::vector<std::string> names{};  // names of spans; empty: the names of their kinds
};

// All parts are optional.
struct ReportSection {
    std::string title;
    std::string note{};
    std::vector<ReportFact> facts{};
    std::vector<ReportBar> bars{};
    // A page draws the bars as parts of one bar, in which a share of 1 is marked
    bool stacked = false;
    std::optional<PageChart> chart{};
    std::vector<PageHeatRow> heat{};
    std::vector<std::string> heat_scale{};  // meanings of 0 and 1; empty: shares of use
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
    std::vector<ReportFact> facts{};  // shown above the lines
    ReportTable result{};             // one row or more: the figures with their units, for CSV
};

std::string to_html(const Report& report);
// At most 100 columns wide. Timelines are left out, and so are curves and heat maps that need a
// page.
std::string to_text(const Report& report);
std::string to_markdown(const Report& report);
// `result`, or the first table without it: a head with units, and the raw values.
std::string to_csv(const Report& report);
std::string to_csv(const ReportTable& table);

// The JSON of a command without an object of its own: its report, {"title", "figures": {WHAT:
// VALUE}, "sections": [{"title", "rows": [{COLUMN: VALUE}]}]}. Values of cells are in seconds,
// bytes and shares of 1.
std::string to_json(const Report& report);

}  // namespace orrery
