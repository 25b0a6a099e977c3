// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/network_report.h"

#include <fmt/format.h>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/utf8.h"

namespace orrery {
namespace {

std::string heading(const NetworkAnswer& a) {
    return fmt::format("{}: {} on {} ranks of {}\nnetwork: {}, routing: {}\n",
                       a.scenario,
                       a.pattern,
                       a.ranks,
                       a.cluster,
                       a.fidelity,
                       a.routing);
}

std::string rows(const NetworkAnswer& a) {
    std::string text =
        "\n       size         count   type  redop  algorithm  protocol  channels      time   algbw"
        "   busbw\n"
        "        (B)    (elements)                                                   (us)  (GB/s)"
        "  (GB/s)\n";
    for (const NetworkRow& row : a.rows) {
        text += fmt::format(
            "{:>11} {:>13}  float  {:>5}  {:<9}  {:<8}  {:>8} {:>9} {:>7} {:>7}{}\n",
            row.size.count(),
            row.count,
            row.reduction,
            row.algorithm.empty() ? "flows" : row.algorithm,
            row.protocol.empty() ? "-" : row.protocol,
            row.channels,
            fmt::format("{:.{}f}", row.time.microseconds(), row.time.microseconds() < 1e5 ? 2 : 0),
            fmt::format("{:.2f}", row.algbw),
            fmt::format("{:.2f}", row.busbw),
            row.finished ? "" : "  GAVE UP");
    }
    return text;
}

// What a profile measured inside a server, beside the model's time.
std::string measured_rows(const NetworkAnswer& a) {
    std::string text;
    for (const NetworkRow& row : a.rows) {
        if (row.measured > Time{}) {
            text += fmt::format("{:>11} {:>14.2f} {:>11.2f} {:>+8.1f} %\n",
                                row.size.count(),
                                row.measured.microseconds(),
                                row.time.microseconds(),
                                100 * (row.time / row.measured - 1));
        }
    }
    return text.empty() ? text : "\n   size (B)  measured (us)  model (us)     error\n" + text;
}

std::string flows_text(const NetworkAnswer& a) {
    if (a.flows.empty()) {
        return {};
    }
    std::string text =
        "\nFlow completion times (us); slowdown is against the same flow in an empty network\n"
        "       size    flows  finished       min    median       p99       max  slowdown:"
        "  median   p99   max\n";
    for (const FlowTimes& f : a.flows) {
        text += fmt::format(
            "{:>11} {:>8}  {:>8} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f}            {:>6.2f} {:>5.2f} "
            "{:>5.2f}\n",
            f.size.count(),
            f.flows,
            f.finished,
            f.min.microseconds(),
            f.median.microseconds(),
            f.p99.microseconds(),
            f.max.microseconds(),
            f.slowdown_median,
            f.slowdown_p99,
            f.slowdown_max);
        if (f.moved + f.stalled > 0) {
            text +=
                fmt::format("            {} moved to another path, {} stood still for at most {}\n",
                            f.moved,
                            f.stalled,
                            to_short_text(f.stalled_max));
        }
    }
    return text;
}

std::string packets(const NetworkAnswer& a) {
    if (a.packets.empty()) {
        return {};
    }
    std::string text =
        "\n       size    packets  repeated    marked   trimmed   dropped    pauses  longest pause"
        "  fullest queue\n";
    for (const PacketCounts& p : a.packets) {
        text += fmt::format("{:>11} {:>10}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>13}  {}{}\n",
                            p.size.count(),
                            p.packets,
                            p.repeated,
                            p.marked,
                            p.trimmed,
                            p.dropped,
                            p.pauses,
                            to_short_text(p.paused_max),
                            to_short_text(p.queue_max),
                            p.queue_at.empty() ? "" : " at " + p.queue_at);
    }
    return text;
}

std::string links(const NetworkAnswer& a) {
    std::string text = fmt::format("\nUse of the links, {}     links      used    mean  busiest\n",
                                   to_short_text(a.links_size));
    for (const LinkClassUse& use : a.classes) {
        text += fmt::format("  {:<30}{:>7}   {:>7}  {:>5.1f}%   {:>5.1f}%\n",
                            cut(use.link_class, 29),
                            use.links,
                            use.used,
                            use.mean * 100,
                            use.max * 100);
    }
    text += "\nBusiest links                                         flows      bytes    use\n";
    for (const BusyLink& link : a.busiest) {
        text += fmt::format("  {:<50}{:>7}  {:>9}  {:>5.1f}%\n",
                            cut(link.link, 50),
                            link.flows,
                            to_short_text(Bytes{link.bytes}),
                            link.utilisation * 100);
    }
    return text;
}

}  // namespace

std::string network_report(const NetworkAnswer& answer) {
    std::string text = heading(answer) + rows(answer) + measured_rows(answer) + flows_text(answer) +
                       packets(answer) + links(answer);
    for (const std::string& note : answer.notes) {
        text += "\n  " + note;
    }
    return text + (answer.notes.empty() ? "" : "\n");
}

}  // namespace orrery
