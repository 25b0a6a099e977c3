// SPDX-License-Identifier: Apache-2.0
// A page of cards, tables, bars, curves, heat maps and timelines: what search, sweep, campaign,
// network and compare write with --html, in the shell of report/html_report.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report/text_table.h"

namespace orrery {

struct PageCard {
    std::string value;
    std::string what;
    bool bad = false;
};

struct PageBar {
    std::string name;
    std::string text;
    std::string more;
    double share = 0;  // of the track
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
struct PageSection {
    std::string title;
    std::string note{};
    std::vector<PageBar> bars{};
    std::optional<PageChart> chart{};
    std::vector<PageHeatRow> heat{};
    std::optional<PageTimeline> timeline{};
    std::vector<TextRow> table{};  // the first row is the head
    std::size_t left_columns = 1;
};

struct StudyPage {
    std::string title;
    std::vector<std::string> lines;
    std::vector<PageCard> cards;
    std::vector<PageSection> sections;
    std::string footer;
};

std::string study_html(const StudyPage& page);

}  // namespace orrery
