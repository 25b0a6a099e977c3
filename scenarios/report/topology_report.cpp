// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/topology_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

double bytes_per_s(Bandwidth bandwidth) {
    return static_cast<double>(bandwidth.bits_per_second()) / 8;
}

// "4 : 1"; "1 : 4" if this tier has more than the one below.
std::string ratio(double oversubscription) {
    if (oversubscription <= 0) {
        return "";
    }
    return oversubscription >= 1 ? fmt::format("{:.3g} : 1", oversubscription)
                                 : fmt::format("1 : {:.3g}", 1 / oversubscription);
}

std::string bandwidths(const CableTier& tier) {
    const std::string fastest = cell_text(bytes_per_s(tier.fastest), Unit::rate);
    return tier.slowest == tier.fastest
               ? fastest
               : cell_text(bytes_per_s(tier.slowest), Unit::rate) + " to " + fastest;
}

const char* words_for(Distance distance) {
    switch (distance) {
        case Distance::node:
            return "inside a node";
        case Distance::leaf_set:
            return "under the same leaf switches";
        case Distance::pod:
            return "in a pod";
        case Distance::cluster:
            break;
    }
    return "across the cluster";
}

const char* key_of(Distance distance) {
    constexpr const char* kKeys[] = {"node", "leaf_set", "pod", "cluster"};
    return kKeys[static_cast<std::size_t>(distance)];
}

ReportSection cables_section(const Topology& topology) {
    ReportSection section{.title = "Links by tier"};
    section.table.columns = {{"tier"},
                             {"links", Unit::count},
                             {"bandwidth of one", Unit::words, 1, true},
                             {"latency", Unit::seconds},
                             {"of a GPU", Unit::rate},
                             {"over-subscribed", Unit::words, 1, true}};
    for (const CableTier& tier : topology.cables) {
        section.table.rows.push_back({tier.name,
                                      tier.cables,
                                      bandwidths(tier),
                                      known_cell(tier.latency.seconds()),
                                      bytes_per_s(tier.total) / topology.gpus,
                                      ratio(tier.oversubscription)});
    }
    section.after = {
        "Of a GPU: the tier's bandwidth in one direction, divided by all GPUs. Over-subscribed: "
        "the "
        "bandwidth of the tier below over this tier's."};
    return section;
}

ReportSection axes_section(const Topology& topology) {
    ReportSection section{.title = "Groups of the plan"};
    section.table.columns = {{"axis"},
                             {"ranks of a group", Unit::count},
                             {"groups", Unit::count},
                             {"nodes of a group", Unit::count},
                             {"farthest members"}};
    for (const PlacedAxis& axis : topology.axes) {
        section.table.rows.push_back(
            {axis.name, axis.ranks, axis.groups, axis.nodes, words_for(axis.farthest)});
    }
    return section;
}

ReportSection path_section(const RankPath& path) {
    ReportSection section{.title = fmt::format("From rank {} to rank {}", path.from, path.to)};
    section.table.columns = {
        {"link"}, {"tier"}, {"bandwidth", Unit::rate}, {"latency", Unit::seconds}};
    for (const Hop& hop : path.hops) {
        section.table.rows.push_back({hop.link,
                                      hop.link_class,
                                      bytes_per_s(hop.capacity),
                                      known_cell(hop.latency.seconds())});
    }
    const std::string together = fmt::format("Together {}", cell_text(path.latency, Unit::seconds));
    section.after.push_back(
        path.equal_paths > 1
            ? fmt::format("{}. This is one of {} through the switches.",
                          together,
                          counted(static_cast<std::int64_t>(path.equal_paths), "equal path"))
            : together + ".");
    return section;
}

ReportTable result_of(const Topology& topology) {
    ReportTable table{.columns = {{"tier"},
                                  {"links", Unit::count},
                                  {"least bandwidth of one", Unit::rate},
                                  {"most bandwidth of one", Unit::rate},
                                  {"bandwidth of all", Unit::rate},
                                  {"latency", Unit::seconds},
                                  {"oversubscription", Unit::number, 3}}};
    for (const CableTier& tier : topology.cables) {
        table.rows.push_back({tier.name,
                              tier.cables,
                              bytes_per_s(tier.slowest),
                              bytes_per_s(tier.fastest),
                              bytes_per_s(tier.total),
                              tier.latency,
                              known_cell(tier.oversubscription)});
    }
    return table;
}

Json path_json(const RankPath& path) {
    return {{"from", path.from},
            {"to", path.to},
            {"latency_s", path.latency.seconds()},
            {"equal_paths", path.equal_paths},
            {"links", json_list<Json>(path.hops, [](const Hop& hop) {
                 return Json{{"name", hop.link},
                             {"tier", hop.link_class},
                             {"bytes_per_s", bytes_per_s(hop.capacity)},
                             {"latency_s", hop.latency.seconds()}};
             })}};
}

}  // namespace

Report topology_sections(const Topology& topology) {
    Report report{.title = topology.name};
    report.facts = {{"cluster",
                     fmt::format("{}, {}{}{}",
                                 counted(topology.gpus, "GPU"),
                                 counted(topology.nodes, "node"),
                                 topology.node.empty() ? "" : ": ",
                                 topology.node)}};
    if (!topology.fabric.empty()) {
        report.facts.push_back({"fabric", topology.fabric});
    }
    std::string switches;
    for (const SwitchTier& tier : topology.switches) {
        switches +=
            fmt::format("{}{} {}", switches.empty() ? "" : ", ", thousands(tier.count), tier.name);
    }
    if (!switches.empty()) {
        report.facts.push_back({"switches", switches});
    }
    report.lines = topology.remarks;
    report.sections.push_back(cables_section(topology));
    if (!topology.axes.empty()) {
        report.sections.push_back(axes_section(topology));
    }
    if (topology.path) {
        report.sections.push_back(path_section(*topology.path));
    }
    report.result = result_of(topology);
    return report;
}

std::string topology_json(const Topology& topology) {
    Json json{{"name", topology.name},
              {"node", topology.node},
              {"fabric", topology.fabric},
              {"nodes", topology.nodes},
              {"gpus", topology.gpus},
              {"ranks", topology.ranks}};
    json["switches"] = json_list<Json>(topology.switches, [](const SwitchTier& tier) {
        return Json{{"tier", tier.name}, {"count", tier.count}};
    });
    json["links"] = json_list<Json>(topology.cables, [](const CableTier& tier) {
        return Json{{"tier", tier.name},
                    {"count", tier.cables},
                    {"slowest_bytes_per_s", bytes_per_s(tier.slowest)},
                    {"fastest_bytes_per_s", bytes_per_s(tier.fastest)},
                    {"total_bytes_per_s", bytes_per_s(tier.total)},
                    {"latency_s", tier.latency.seconds()},
                    {"oversubscription", known_or_null<Json>(tier.oversubscription)}};
    });
    json["groups"] = json_list<Json>(topology.axes, [](const PlacedAxis& axis) {
        return Json{{"axis", axis.name},
                    {"ranks", axis.ranks},
                    {"groups", axis.groups},
                    {"nodes", axis.nodes},
                    {"farthest", key_of(axis.farthest)}};
    });
    json["path"] = topology.path ? path_json(*topology.path) : Json();
    json["remarks"] = topology.remarks;
    return json_text(json);
}

}  // namespace orrery
