// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/study_page.h"

#include <nlohmann/json.hpp>

#include "scenarios/report/html_report.h"
#include "scenarios/report/json_text.h"

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
    }
    return {{"x", {{"title", chart.x.title}, {"unit", chart.x.unit}}},
            {"y", {{"title", chart.y.title}, {"unit", chart.y.unit}}},
            {"log", chart.log},
            {"xs", chart.xs},
            {"series", series}};
}

Json timeline_json(const PageTimeline& timeline) {
    Json lanes = Json::array();
    for (const PageLane& lane : timeline.lanes) {
        Json bars = Json::array();
        for (const PageSpan& span : lane.spans) {
            bars.push_back({span.kind, span.begin, span.length, span.kind, -1});
        }
        lanes.push_back({{"rank", ""}, {"stream", lane.name}, {"first", false}, {"bars", bars}});
    }
    return {{"scale", timeline.scale},
            {"kinds", timeline.kinds},
            {"names", timeline.kinds},
            {"lanes", lanes}};
}

Json section_json(const PageSection& section) {
    Json json{{"title", section.title}, {"note", section.note}};
    for (const PageBar& bar : section.bars) {
        json["bars"].push_back(
            {{"name", bar.name}, {"text", bar.text}, {"more", bar.more}, {"share", bar.share}});
    }
    if (section.chart) {
        json["chart"] = chart_json(*section.chart);
    }
    for (const PageHeatRow& row : section.heat) {
        json["heat"]["rows"].push_back(
            {{"name", row.name}, {"values", row.values}, {"labels", row.labels}});
    }
    if (section.timeline && !section.timeline->lanes.empty()) {
        json["timeline"] = timeline_json(*section.timeline);
    }
    if (!section.table.empty()) {
        Json rows = Json::array();
        for (std::size_t i = 1; i < section.table.size(); ++i) {
            rows.push_back(section.table[i]);
        }
        json["table"] = {
            {"head", section.table.front()}, {"rows", rows}, {"left", section.left_columns}};
    }
    return json;
}

}  // namespace

std::string study_html(const StudyPage& page) {
    Json cards = Json::array();
    for (const PageCard& card : page.cards) {
        cards.push_back({{"value", card.value}, {"what", card.what}, {"bad", card.bad}});
    }
    Json sections = Json::array();
    for (const PageSection& section : page.sections) {
        sections.push_back(section_json(section));
    }
    const Json data{{"title", page.title},
                    {"lines", page.lines},
                    {"cards", cards},
                    {"sections", sections},
                    {"footer", page.footer}};
    return filled_page(page.title, json_line(data), page_assets().study);
}

}  // namespace orrery
