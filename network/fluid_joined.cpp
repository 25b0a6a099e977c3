// SPDX-License-Identifier: Apache-2.0
// The part of FluidRates (network/fluid.h) that moves several parts as one flow. All parts have the
// same rate x if a link that all of them cross alike saturates at x: then the least level of each
// part's links is that one, and x is the fixed point for the parts as well. So a flow of parts is
// right as long as such a link, or its cap, holds it, and that is seen to after each sweep.
#include <algorithm>

#include "network/fluid.h"

namespace orrery {

std::optional<FootprintId> FluidRates::join_footprints(std::span<const FootprintId> parts) {
    std::vector<LinkShare> all;
    for (const FootprintId part : parts) {
        const auto shares = footprints_[part];
        all.insert(all.end(), shares.begin(), shares.end());
    }
    std::ranges::sort(all, {}, &LinkShare::link);
    std::vector<LinkShare> sum;
    std::vector<LinkShare> alike;
    for (std::size_t i = 0; i < all.size();) {
        LinkShare share{.link = all[i].link, .count = 0};
        const std::size_t first = i;
        bool same = true;
        for (; i < all.size() && all[i].link == share.link; ++i) {
            same = same && all[i].count == all[first].count;
            share.count += all[i].count;
        }
        sum.push_back(share);
        if (same && i - first == parts.size()) {
            alike.push_back(share);
        }
    }
    if (alike.empty()) {
        return std::nullopt;
    }
    const auto number = static_cast<std::uint32_t>(joined_.size());
    joined_.push_back({.parts = {parts.begin(), parts.end()}, .holders = add_footprint(alike)});
    const FootprintId id = add_footprint(sum);
    joined_of_[index(id)] = number;
    return id;
}

// Those that are held by a link that only some of their parts cross. True if there were any: then
// the sweep has to go on with their parts.
bool FluidRates::part_flows() {
    if (joined_.empty()) {
        return false;
    }
    bool any = false;
    for (const std::uint32_t f : frozen_flows_) {
        if (flows_[f].joined != kNone && rates_[f] != kNever && !is_held(f, rates_[f])) {
            part(f);
            any = true;
        }
    }
    return any;
}

// Up to now all parts have done the same.
void FluidRates::part(std::uint32_t f) {
    remove(f);
    rates_[f] = kNever;
    const Flow flow = flows_[f];
    const __int128 work = progress_.take_work(now_, FlowId{f});
    const std::vector<FootprintId>& parts = joined_[flow.joined].parts;
    for (const FootprintId part : parts) {
        const std::uint32_t id = static_cast<std::uint32_t>(index(progress_.add_work(work)));
        describe(id, part, flow.rate_max);
        flows_[id].whole = f;
        add_to_links(id);
    }
    flows_[f].parts_left = static_cast<std::uint32_t>(parts.size());
}

// By a link that all of its parts cross alike.
bool FluidRates::is_held(std::uint32_t f, Level level) {
    const Flow& flow = flows_[f];
    FootprintId footprint = flow.footprint;
    Level bound = flow.bound;
    if (flow.joined != kNone) {
        footprint = joined_[flow.joined].holders;
        bound = std::min(flow.rate_max, bound_of(footprint));
    }
    if (bound == level) {
        return true;
    }
    const auto shares = footprints_[footprint];
    return std::any_of(shares.begin(), shares.end(), [&](const LinkShare& share) {
        return links_[index(share.link)].level == level;
    });
}

}  // namespace orrery
