// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "scenarios/report/render/html_page.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report.h"

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
    Json json{{"x", {{"title", chart.x.title}, {"unit", chart.x.unit}}},
              {"y", {{"title", chart.y.title}, {"unit", chart.y.unit}}},
              {"log", chart.log},
              {"stacked", chart.stacked},
              {"xs", chart.xs},
              {"series", series}};
    if (chart.limit) {
        json["limit"] = {{"name", chart.limit->name}, {"value", chart.limit->value}};
    }
    return json;
}

Json timeline_json(const PageTimeline& timeline) {
    Json lanes = json_list<Json>(timeline.lanes, [&](const PageLane& lane) -> Json {
        Json bars = json_list<Json>(lane.spans, [&](const PageSpan& span) -> Json {
            const std::size_t name = timeline.names.empty() ? span.kind : span.name;
            return {span.kind, span.begin, span.length, name, span.micro_batch};
        });
        return {{"rank", lane.owner}, {"stream", lane.name}, {"first", lane.first}, {"bars", bars}};
    });
    return {{"scale", timeline.scale},
            {"kinds", timeline.kinds},
            {"names", timeline.names.empty() ? timeline.kinds : timeline.names},
            {"lanes", lanes}};
}

Json facts_json(const std::vector<ReportFact>& facts) {
    return json_list<Json>(facts, [](const ReportFact& fact) -> Json {
        return {{"name", fact.name}, {"value", fact.value}};
    });
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
    if (!section.table.rows.empty()) {
        const ReportTable table = with_notes(section.table);
        const std::vector<TextRow> rows = text_rows(table);
        Json right = json_list<Json>(table.columns, is_right);
        json["table"] = {{"head", rows.front()},
                         {"rows", std::vector<TextRow>(rows.begin() + 1, rows.end())},
                         {"right", right}};
    }
    json["after"] = section.after;
    return json;
}

// A table without rows is left out, as on a terminal.
bool shows_something(const ReportSection& section) {
    return !(section.facts.empty() && section.bars.empty() && section.heat.empty() &&
             section.table.rows.empty() && section.after.empty()) ||
           section.chart || (section.timeline && !section.timeline->lanes.empty());
}

}  // namespace

std::string to_html(const Report& report) {
    Json cards = json_list<Json>(report.cards, [](const Figure& card) -> Json {
        return {{"value", card.value}, {"what", figure_words(card)}, {"bad", card.bad}};
    });
    Json sections = Json::array();
    for (const ReportSection& section : report.sections) {
        if (shows_something(section)) {
            sections.push_back(section_json(section));
        }
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
