// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/study_page.h"
#include "scenarios/report/study_pages.h"

namespace orrery {
namespace {

std::string page_percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

PageSection sizes(const NetworkAnswer& answer) {
    PageSection section{.title = "By size", .left_columns = 0};
    section.table.push_back({"size", "time", "algbw GB/s", "busbw GB/s", "algorithm", "protocol"});
    PageChart chart{
        .x = {"size", "bytes"}, .y = {"bandwidth", "GB/s"}, .log = answer.rows.size() > 2};
    PageSeries algbw{.name = "algbw"};
    PageSeries busbw{.name = "busbw"};
    for (const NetworkRow& row : answer.rows) {
        section.table.push_back({to_short_text(row.size),
                                 to_short_text(row.time),
                                 fmt::format("{:.2f}", row.algbw),
                                 fmt::format("{:.2f}", row.busbw),
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

PageSection flows(const NetworkAnswer& answer) {
    PageSection section{.title = "Flow completion times",
                        .note = "A slowdown is against the same flow in an empty network.",
                        .left_columns = 0};
    section.table.push_back(
        {"size", "flows", "finished", "least", "median", "p99", "most", "slowdown median", "p99"});
    for (const FlowTimes& flow : answer.flows) {
        section.table.push_back({to_short_text(flow.size),
                                 fmt::format("{}", flow.flows),
                                 fmt::format("{}", flow.finished),
                                 to_short_text(flow.min),
                                 to_short_text(flow.median),
                                 to_short_text(flow.p99),
                                 to_short_text(flow.max),
                                 fmt::format("{:.2f}", flow.slowdown_median),
                                 fmt::format("{:.2f}", flow.slowdown_p99)});
    }
    return section;
}

PageSection fabric(const NetworkAnswer& answer) {
    PageSection section{
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

PageSection busiest(const NetworkAnswer& answer) {
    PageSection section{.title = "The busiest links"};
    section.table.push_back({"link", "use", "bytes", "flows"});
    for (const BusyLink& link : answer.busiest) {
        section.table.push_back({link.link,
                                 page_percent(link.utilisation),
                                 to_short_text(Bytes{link.bytes}),
                                 fmt::format("{}", link.flows)});
    }
    return section;
}

}  // namespace

std::string network_page(const NetworkAnswer& answer) {
    StudyPage page{.title = answer.scenario};
    page.lines = {fmt::format("{} on {} ranks of {}", answer.pattern, answer.ranks, answer.cluster),
                  fmt::format("network: {}, routing: {}", answer.fidelity, answer.routing)};
    page.lines.insert(page.lines.end(), answer.notes.begin(), answer.notes.end());
    if (!answer.rows.empty()) {
        const NetworkRow& last = answer.rows.back();
        page.cards = {{to_short_text(last.time), "for " + to_short_text(last.size), !last.finished},
                      {fmt::format("{:.1f} GB/s", last.algbw), "algorithm bandwidth"},
                      {fmt::format("{:.1f} GB/s", last.busbw), "bus bandwidth"}};
        page.sections.push_back(sizes(answer));
    }
    if (!answer.flows.empty()) {
        page.sections.push_back(flows(answer));
    }
    if (!answer.classes.empty()) {
        page.sections.push_back(fabric(answer));
    }
    if (!answer.busiest.empty()) {
        page.sections.push_back(busiest(answer));
    }
    page.footer = fmt::format("Orrery {}.", answer.version);
    return study_html(page);
}

}  // namespace orrery
