// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "scenarios/format/provenance/version.h"
#include "scenarios/report/checks_report.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

constexpr std::size_t kRowsOfPage = 512;

std::size_t num_nodes(const HeatMap& map) {
    return (map.relative.size() + map.ranks_per_node - 1) / map.ranks_per_node;
}

double hottest_of(const HeatMap& map, std::size_t node) {
    const std::size_t first = node * map.ranks_per_node;
    const std::size_t end = std::min(first + map.ranks_per_node, map.relative.size());
    double most = 0;
    for (std::size_t i = first; i < end; ++i) {
        most = std::max(most, map.relative[i]);
    }
    return most;
}

// All nodes if there are at most `most`, else the hottest, in the order of their numbers.
std::vector<std::size_t> shown_nodes(const HeatMap& map, std::size_t most) {
    std::vector<std::size_t> nodes(num_nodes(map));
    std::iota(nodes.begin(), nodes.end(), std::size_t{0});
    if (nodes.size() > most) {
        std::stable_sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) {
            return hottest_of(map, a) > hottest_of(map, b);
        });
        nodes.resize(most);
        std::sort(nodes.begin(), nodes.end());
    }
    return nodes;
}

// 0 at the median, 1 at a tenth above it.
double heat(double relative) {
    return std::clamp((relative - 1) * 10, 0.0, 1.0);
}

}  // namespace

std::string heat_map_json(const HeatMap& map) {
    nlohmann::ordered_json json;
    json["title"] = map.title;
    json["ranks_per_node"] = map.ranks_per_node;
    json["kernels_s"] = map.times_s;
    json["relative"] = map.relative;
    json["slow"] = map.slow;
    return json_text(json);
}

Report heat_map_sections(const HeatMap& map) {
    Report report{.title = map.title};
    report.lines = {
        fmt::format("Kernel times of {} ranks over the median of their role; a row is a "
                    "node.",
                    map.relative.size())};
    report.cards.push_back(
        {map.slow.empty() ? "none" : map.slow.front(), "slow", !map.slow.empty()});
    ReportSection section{.title = "Heat map",
                          .heat_scale = {"the median", "a tenth above it, or more"}};
    for (const std::size_t node : shown_nodes(map, kRowsOfPage)) {
        PageHeatRow row{.name = fmt::format("node {}", node), .values = {}};
        const std::size_t first = node * map.ranks_per_node;
        const std::size_t end = std::min(first + map.ranks_per_node, map.relative.size());
        for (std::size_t i = first; i < end; ++i) {
            row.values.push_back(heat(map.relative[i]));
            row.labels.push_back(fmt::format(
                "node {}, device {}: {:.2f} times the median", node, i - first, map.relative[i]));
        }
        section.heat.push_back(std::move(row));
    }
    report.sections = {std::move(section)};
    ReportSection slow{.title = "Slow", .table = {.columns = {{"where"}, {"slow"}}}};
    for (const std::string& line : map.slow) {
        const std::size_t colon = line.find(": ");
        slow.table.rows.push_back({line.substr(0, colon), line.substr(colon + 2)});
    }
    if (!map.slow.empty()) {
        report.sections.push_back(std::move(slow));
    }
    report.footer = fmt::format("Orrery {}.", kVersion);
    return report;
}

}  // namespace orrery
