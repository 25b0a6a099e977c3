// SPDX-License-Identifier: Apache-2.0
#include "models/experts/expert_placement.h"

#include <algorithm>
#include <numeric>

#include "engine/base/check.h"

namespace orrery {
namespace {

// Items by pack. The heaviest remaining item goes to the lightest pack with space.
std::vector<std::vector<std::size_t>> packed(std::span<const double> weights, std::int64_t packs) {
    const auto room = weights.size() / static_cast<std::size_t>(packs);
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (room > 1) {
        std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return weights[i]; });
    }
    std::vector<std::vector<std::size_t>> items(static_cast<std::size_t>(packs));
    std::vector<double> filled(items.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
        std::size_t lightest = room > 1 ? items.size() : place;
        for (std::size_t pack = 0; room > 1 && pack < items.size(); ++pack) {
            const bool lighter = lightest == items.size() || filled[pack] < filled[lightest];
            lightest = items[pack].size() < room && lighter ? pack : lightest;
        }
        items[lightest].push_back(order[place]);
        filled[lightest] += weights[order[place]];
    }
    return items;
}

// All experts, followed by copies. Each copy is of the expert with the highest load per copy.
std::vector<std::size_t> with_copies(std::span<const double> loads,
                                     std::size_t slots,
                                     std::vector<double>& copies) {
    std::vector<std::size_t> experts(loads.size());
    std::iota(experts.begin(), experts.end(), std::size_t{0});
    copies.assign(loads.size(), 1);
    while (experts.size() < slots) {
        std::size_t busiest = 0;
        for (std::size_t e = 1; e < loads.size(); ++e) {
            busiest = loads[e] / copies[e] > loads[busiest] / copies[busiest] ? e : busiest;
        }
        experts.push_back(busiest);
        ++copies[busiest];
    }
    return experts;
}

// The experts of each node, group by group.
std::vector<std::vector<std::size_t>> experts_of_nodes(std::span<const double> loads,
                                                       const PlacementCall& call) {
    const auto size = loads.size() / static_cast<std::size_t>(call.groups);
    std::vector<double> of_groups;
    for (std::size_t first = 0; first < loads.size(); first += size) {
        const std::span<const double> group = loads.subspan(first, size);
        of_groups.push_back(std::accumulate(group.begin(), group.end(), 0.0));
    }
    std::vector<std::vector<std::size_t>> nodes;
    for (const std::vector<std::size_t>& groups : packed(of_groups, call.nodes)) {
        std::vector<std::size_t>& experts = nodes.emplace_back();
        for (const std::size_t group : groups) {
            for (std::size_t e = 0; e < size; ++e) {
                experts.push_back(group * size + e);
            }
        }
    }
    return nodes;
}

}  // namespace

std::vector<std::int64_t> place_experts(std::span<const double> loads, const PlacementCall& call) {
    const bool by_node = call.groups % call.nodes == 0;
    const PlacementCall used =
        by_node ? call
                : PlacementCall{.slots = call.slots, .groups = 1, .nodes = 1, .gpus = call.gpus};
    ORRERY_CHECK(std::ssize(loads) % used.groups == 0 && used.slots >= std::ssize(loads));
    ORRERY_CHECK(used.slots % used.gpus == 0 && used.gpus % used.nodes == 0);
    std::vector<std::int64_t> slots;
    for (const std::vector<std::size_t>& node : experts_of_nodes(loads, used)) {
        std::vector<double> own;
        for (const std::size_t expert : node) {
            own.push_back(loads[expert]);
        }
        std::vector<double> copies;
        const std::vector<std::size_t> experts =
            with_copies(own, static_cast<std::size_t>(used.slots / used.nodes), copies);
        std::vector<double> of_copy;
        for (const std::size_t expert : experts) {
            of_copy.push_back(own[expert] / copies[expert]);
        }
        for (const std::vector<std::size_t>& gpu : packed(of_copy, used.gpus / used.nodes)) {
            for (const std::size_t copy : gpu) {
                slots.push_back(static_cast<std::int64_t>(node[experts[copy]]));
            }
        }
    }
    return slots;
}

std::vector<std::int64_t> balanced_order(std::span<const double> loads, std::int64_t ranks) {
    return place_experts(loads, {.slots = std::ssize(loads), .gpus = ranks});
}

}  // namespace orrery
