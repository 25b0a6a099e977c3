// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

constexpr double kGiga = 1e9;

// Notes on sizes at which NCCL's tuner changes the algorithm or protocol and the larger size is
// slower per byte.
std::vector<std::string> dents(const NetworkAnswer& answer) {
    std::vector<std::string> lines;
    for (std::size_t i = 1; i < answer.rows.size(); ++i) {
        const NetworkRow& before = answer.rows[i - 1];
        const NetworkRow& row = answer.rows[i];
        const bool other = row.algorithm != before.algorithm || row.protocol != before.protocol;
        if (other && row.size > before.size && row.algbw < before.algbw) {
            lines.push_back(fmt::format(
                "From {} to {} NCCL's tuner goes from {} {} to {} {}, and algbw falls: its own "
                "estimate chooses so.",
                to_short_text(before.size),
                to_short_text(row.size),
                before.algorithm,
                before.protocol,
                row.algorithm,
                row.protocol));
        }
    }
    return lines;
}

ReportSection sizes(const NetworkAnswer& answer) {
    ReportSection section{.title = "By size"};
    section.table.columns = {{"size (B)", Unit::count},
                             {"elements", Unit::count},
                             {"redop"},
                             {"algorithm"},
                             {"protocol"},
                             {"channels", Unit::count},
                             {"time", Unit::seconds},
                             {"algbw", Unit::rate, 2},
                             {"busbw", Unit::rate, 2}};
    PageChart chart{
        .x = {"size", "bytes"}, .y = {"bandwidth", "GB/s"}, .log = answer.rows.size() > 2};
    PageSeries algbw{.name = "algorithm bandwidth (algbw)"};
    PageSeries busbw{.name = "bus bandwidth (busbw)"};
    for (const NetworkRow& row : answer.rows) {
        section.table.rows.push_back({row.size,
                                      row.count,
                                      row.reduction,
                                      row.algorithm.empty() ? "flows" : row.algorithm,
                                      row.protocol.empty() ? "-" : row.protocol,
                                      row.channels,
                                      row.time,
                                      row.algbw * kGiga,
                                      row.busbw * kGiga});
        if (!row.finished) {
            section.after.push_back(to_short_text(row.size) + " GAVE UP: a link stayed dead.");
        }
        chart.xs.push_back(static_cast<double>(row.size.count()));
        algbw.values.emplace_back(row.algbw);
        busbw.values.emplace_back(row.busbw);
    }
    std::ranges::move(dents(answer), std::back_inserter(section.after));
    if (answer.rows.size() > 1) {
        chart.series = {std::move(algbw), std::move(busbw)};
        section.chart = std::move(chart);
    }
    return section;
}

// Times that a profile measured inside a server, beside the model's.
ReportSection measured(const NetworkAnswer& answer) {
    ReportSection section{.title = "Measured times of the profile"};
    section.table.columns = {{"size (B)", Unit::count},
                             {"measured", Unit::seconds},
                             {"model", Unit::seconds},
                             {"error", Unit::change}};
    for (const NetworkRow& row : answer.rows) {
        if (row.measured > Time{}) {
            section.table.rows.push_back(
                {row.size, row.measured, row.time, row.time / row.measured - 1});
        }
    }
    return section;
}

ReportSection flows(const NetworkAnswer& answer) {
    ReportSection section{.title = "Flow completion times",
                          .note = "A slowdown is against the same flow in an empty network."};
    section.table.columns = {{"size (B)", Unit::count},
                             {"flows", Unit::count},
                             {"finished", Unit::count},
                             {"least", Unit::seconds},
                             {"median", Unit::seconds},
                             {"p99", Unit::seconds},
                             {"most", Unit::seconds},
                             {"slower: median", Unit::number, 2},
                             {"p99", Unit::number, 2},
                             {"most", Unit::number, 2}};
    for (const FlowTimes& flow : answer.flows) {
        std::vector<Cell> row{flow.size, flow.flows, flow.finished};
        if (flow.finished > 0) {
            row.insert(row.end(),
                       {flow.min,
                        flow.median,
                        flow.p99,
                        flow.max,
                        flow.slowdown_median,
                        flow.slowdown_p99,
                        flow.slowdown_max});
        }
        row.resize(section.table.columns.size());
        section.table.rows.push_back(std::move(row));
        if (flow.moved + flow.stalled > 0) {
            section.after.push_back(
                fmt::format("Of {}: {} moved to another path, {} stood still for at most {}.",
                            to_short_text(flow.size),
                            counted(static_cast<std::int64_t>(flow.moved), "flow"),
                            thousands(static_cast<std::int64_t>(flow.stalled)),
                            to_short_text(flow.stalled_max)));
        }
    }
    return section;
}

ReportSection packets(const NetworkAnswer& answer) {
    ReportSection section{.title = "Packets"};
    section.table.columns = {{"size (B)", Unit::count},
                             {"packets", Unit::count},
                             {"repeated", Unit::count},
                             {"marked", Unit::count},
                             {"trimmed", Unit::count},
                             {"dropped", Unit::count},
                             {"pauses", Unit::count},
                             {"longest pause", Unit::seconds},
                             {"fullest queue", Unit::bytes}};
    for (const PacketCounts& p : answer.packets) {
        section.table.rows.push_back({p.size,
                                      p.packets,
                                      p.repeated,
                                      p.marked,
                                      p.trimmed,
                                      p.dropped,
                                      p.pauses,
                                      p.paused_max,
                                      p.queue_max});
        section.table.notes.push_back(p.queue_at.empty() ? "" : "fullest queue: " + p.queue_at);
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
        section.heat.push_back({heat.link_class, heat.utilisation, {}, heat.links});
    }
    for (const LinkClassUse& use : answer.classes) {
        section.bars.push_back(
            {.name = fmt::format("{}, {} of {} in use",
                                 use.link_class,
                                 thousands(static_cast<std::int64_t>(use.used)),
                                 thousands(static_cast<std::int64_t>(use.links))),
             .text = "mean " + cell_text(use.mean, Unit::share),
             .more = "busiest " + cell_text(use.max, Unit::share),
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
    report.facts = {{"pattern", fmt::format("{} on {} ranks", answer.pattern, answer.ranks)},
                    {"cluster", answer.cluster},
                    {"network", fmt::format("{}, routing: {}", answer.fidelity, answer.routing)}};
    report.lines = answer.notes;
    if (!answer.rows.empty()) {
        const NetworkRow& last = answer.rows.back();
        report.cards = {
            {to_short_text(last.time), "for " + to_short_text(last.size), !last.finished},
            {fmt::format("{:.1f} GB/s", last.algbw), "algorithm bandwidth"},
            {fmt::format("{:.1f} GB/s", last.busbw), "bus bandwidth"}};
        report.sections.push_back(sizes(answer));
    }
    for (ReportSection& section : std::vector{measured(answer), flows(answer), packets(answer)}) {
        if (!section.table.rows.empty()) {
            report.sections.push_back(std::move(section));
        }
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
