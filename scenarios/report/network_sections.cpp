// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/report.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

constexpr double kGiga = 1e9;

std::string page_percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

ReportSection sizes(const NetworkAnswer& answer) {
    ReportSection section{.title = "By size"};
    section.table.columns = {{"size", Unit::bytes},
                             {"time", Unit::seconds},
                             {"algbw", Unit::rate, 2},
                             {"busbw", Unit::rate, 2},
                             {"algorithm"},
                             {"protocol"}};
    PageChart chart{
        .x = {"size", "bytes"}, .y = {"bandwidth", "GB/s"}, .log = answer.rows.size() > 2};
    PageSeries algbw{.name = "algbw"};
    PageSeries busbw{.name = "busbw"};
    for (const NetworkRow& row : answer.rows) {
        section.table.rows.push_back({row.size,
                                      row.time,
                                      row.algbw * kGiga,
                                      row.busbw * kGiga,
                                      row.algorithm,
                                      row.protocol});
        chart.xs.push_back(static_cast<double>(row.size.count()));
        algbw.values.emplace_back(row.algbw);
        busbw.values.emplace_back(row.busbw);
    }
    if (answer.rows.size() > 1) {
        chart.series = {std::move(algbw), std::move(busbw)};
        section.chart = std::move(chart);
    }
    return section;
}

ReportSection flows(const NetworkAnswer& answer) {
    ReportSection section{.title = "Flow completion times",
                          .note = "A slowdown is against the same flow in an empty network."};
    section.table.columns = {{"size", Unit::bytes},
                             {"flows", Unit::count},
                             {"finished", Unit::count},
                             {"least", Unit::seconds},
                             {"median", Unit::seconds},
                             {"p99", Unit::seconds},
                             {"most", Unit::seconds},
                             {"slowdown, median", Unit::number, 2},
                             {"slowdown, p99", Unit::number, 2}};
    for (const FlowTimes& flow : answer.flows) {
        section.table.rows.push_back({flow.size,
                                      flow.flows,
                                      flow.finished,
                                      flow.min,
                                      flow.median,
                                      flow.p99,
                                      flow.max,
                                      flow.slowdown_median,
                                      flow.slowdown_p99});
    }
    return section;
}

ReportSection fabric(const NetworkAnswer& answer) {
    ReportSection section{
        .title = fmt::format("Use of the links, {}", to_short_text(answer.links_size)),
        .note =
            "A cell is a link; its colour the share of its capacity in use over the whole time. "
            "Bars: the mean of a class's links, and its busiest link."};
    for (const LinkHeat& heat : answer.heat) {
        section.heat.push_back({heat.link_class, heat.utilisation});
    }
    for (const LinkClassUse& use : answer.classes) {
        section.bars.push_back({.name = use.link_class,
                                .text = "mean " + page_percent(use.mean),
                                .more = "busiest " + page_percent(use.max),
                                .share = use.max});
    }
    return section;
}

ReportSection busiest(const NetworkAnswer& answer) {
    ReportSection section{.title = "The busiest links"};
    section.table.columns = {
        {"link"}, {"use", Unit::share}, {"bytes", Unit::bytes}, {"flows", Unit::count}};
    for (const BusyLink& link : answer.busiest) {
        section.table.rows.push_back({link.link, link.utilisation, Bytes{link.bytes}, link.flows});
    }
    return section;
}

}  // namespace

Report network_sections(const NetworkAnswer& answer) {
    Report report{.title = answer.scenario};
    report.lines = {
        fmt::format("{} on {} ranks of {}", answer.pattern, answer.ranks, answer.cluster),
        fmt::format("network: {}, routing: {}", answer.fidelity, answer.routing)};
    report.lines.insert(report.lines.end(), answer.notes.begin(), answer.notes.end());
    if (!answer.rows.empty()) {
        const NetworkRow& last = answer.rows.back();
        report.cards = {
            {to_short_text(last.time), "for " + to_short_text(last.size), !last.finished},
            {fmt::format("{:.1f} GB/s", last.algbw), "algorithm bandwidth"},
            {fmt::format("{:.1f} GB/s", last.busbw), "bus bandwidth"}};
        report.sections.push_back(sizes(answer));
    }
    if (!answer.flows.empty()) {
        report.sections.push_back(flows(answer));
    }
    if (!answer.classes.empty()) {
        report.sections.push_back(fabric(answer));
    }
    if (!answer.busiest.empty()) {
        report.sections.push_back(busiest(answer));
    }
    report.footer = fmt::format("Orrery {}.", answer.version);
    return report;
}

}  // namespace orrery
