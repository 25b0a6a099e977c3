// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "scenarios/report/html_page.h"
#include "scenarios/report/json_text.h"
#include "scenarios/report/report.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json chart_json(const PageChart& chart) {
    Json series = Json::array();
    for (const PageSeries& one : chart.series) {
        Json values = Json::array();
        for (const std::optional<double>& value : one.values) {
            values.push_back(value ? Json(*value) : Json());
        }
        series.push_back({{"name", one.name}, {"values", values}, {"points", one.points}});
        if (!one.labels.empty()) {
            series.back()["labels"] = one.labels;
        }
    }
    return {{"x", {{"title", chart.x.title}, {"unit", chart.x.unit}}},
            {"y", {{"title", chart.y.title}, {"unit", chart.y.unit}}},
            {"log", chart.log},
            {"stacked", chart.stacked},
            {"xs", chart.xs},
            {"series", series}};
}

Json timeline_json(const PageTimeline& timeline) {
    Json lanes = Json::array();
    for (const PageLane& lane : timeline.lanes) {
        Json bars = Json::array();
        for (const PageSpan& span : lane.spans) {
            const std::size_t name = timeline.names.empty() ? span.kind : span.name;
            bars.push_back({span.kind, span.begin, span.length, name, span.micro_batch});
        }
        lanes.push_back(
            {{"rank", lane.owner}, {"stream", lane.name}, {"first", lane.first}, {"bars", bars}});
    }
    return {{"scale", timeline.scale},
            {"kinds", timeline.kinds},
            {"names", timeline.names.empty() ? timeline.kinds : timeline.names},
            {"lanes", lanes}};
}

Json facts_json(const std::vector<ReportFact>& facts) {
    Json json = Json::array();
    for (const ReportFact& fact : facts) {
        json.push_back({{"name", fact.name}, {"value", fact.value}});
    }
    return json;
}

Json section_json(const ReportSection& section) {
    Json json{{"title", section.title},
              {"note", section.note},
              {"facts", facts_json(section.facts)},
              {"stacked", section.stacked}};
    for (const ReportBar& bar : section.bars) {
        json["bars"].push_back({{"name", bar.name},
                                {"text", bar.text},
                                {"more", bar.more},
                                {"share", bar.share},
                                {"begin", bar.begin},
                                {"help", bar.help}});
    }
    if (section.chart) {
        json["chart"] = chart_json(*section.chart);
    }
    for (const PageHeatRow& row : section.heat) {
        json["heat"]["rows"].push_back(
            {{"name", row.name}, {"values", row.values}, {"labels", row.labels}});
        if (!row.cells.empty()) {
            json["heat"]["rows"].back()["cells"] = row.cells;
        }
    }
    if (!section.heat_scale.empty()) {
        json["heat"]["scale"] = section.heat_scale;
    }
    if (section.timeline && !section.timeline->lanes.empty()) {
        json["timeline"] = timeline_json(*section.timeline);
    }
    if (!section.table.empty()) {
        const ReportTable table = with_notes(section.table);
        const std::vector<TextRow> rows = text_rows(table);
        Json right = Json::array();
        for (const Column& column : table.columns) {
            right.push_back(is_right(column));
        }
        json["table"] = {{"head", rows.front()},
                         {"rows", std::vector<TextRow>(rows.begin() + 1, rows.end())},
                         {"right", right}};
    }
    json["after"] = section.after;
    return json;
}

}  // namespace

std::string to_html(const Report& report) {
    Json cards = Json::array();
    for (const Figure& card : report.cards) {
        cards.push_back({{"value", card.value}, {"what", figure_words(card)}, {"bad", card.bad}});
    }
    Json sections = Json::array();
    for (const ReportSection& section : report.sections) {
        sections.push_back(section_json(section));
    }
    const Json data{{"title", report.title},
                    {"facts", facts_json(report.facts)},
                    {"lines", report.lines},
                    {"cards", cards},
                    {"sections", sections},
                    {"footer", report.footer}};
    return filled_page(report.title, json_line(data));
}

}  // namespace orrery
