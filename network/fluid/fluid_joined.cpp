// SPDX-License-Identifier: Apache-2.0
// The part of FluidRates (network/fluid/fluid.h) that moves several parts as one flow. All parts
// have the same rate x if each of them crosses a link that saturates at x: then the least level of
// each part's links is that one, and x is the fixed point for the parts as well. Parts of a message
// share such a link, the one that all of them cross alike; flows that end for themselves have one
// each. So a flow of parts is right as long as those links, or its cap, hold it, and that is seen
// to after each sweep.
#include <algorithm>

#include "network/fluid/fluid.h"

namespace orrery {

namespace {

// What all parts together carry, and of that the links that all of them cross alike.
struct Sum {
    std::vector<LinkShare> all;
    std::vector<LinkShare> alike;
};

Sum add_up(auto shares_of, std::span<const FootprintId> parts) {
    std::vector<LinkShare> shares;
    for (const FootprintId part : parts) {
        const std::span<const LinkShare> of_part = shares_of(part);
        shares.insert(shares.end(), of_part.begin(), of_part.end());
    }
    std::ranges::sort(shares, {}, &LinkShare::link);
    Sum sum;
    for (std::size_t i = 0; i < shares.size();) {
        LinkShare share{.link = shares[i].link, .count = 0};
        const std::size_t first = i;
        bool same = true;
        for (; i < shares.size() && shares[i].link == share.link; ++i) {
            same = same && shares[i].count == shares[first].count;
            share.count += shares[i].count;
        }
        sum.all.push_back(share);
        if (same && i - first == parts.size()) {
            sum.alike.push_back(share);
        }
    }
    return sum;
}

}  // namespace

std::optional<FootprintId> FluidRates::join_footprints(std::span<const FootprintId> parts) {
    const Sum sum = add_up([this](FootprintId part) { return shares_of(part); }, parts);
    if (sum.alike.empty()) {
        return std::nullopt;
    }
    return add_joined(sum.all,
                      {.parts = {parts.begin(), parts.end()},
                       .holders = {add_footprint(sum.alike)},
                       .num_flows = static_cast<std::uint32_t>(parts.size())});
}

std::optional<FootprintId> FluidRates::join_flows(std::span<const FootprintId> flows) {
    Joined joined{.parts = {flows.begin(), flows.end()}, .flows = true};
    for (const FootprintId flow : flows) {
        const std::uint32_t parts = footprints_[index(flow)].joined;
        joined.holders.push_back(parts == kNone ? flow : joined_[parts].holders.front());
        joined.num_flows += parts == kNone ? 1 : joined_[parts].num_flows;
    }
    const Sum sum = add_up([this](FootprintId flow) { return shares_of(flow); }, flows);
    return add_joined(sum.all, std::move(joined));
}

FootprintId FluidRates::add_joined(std::span<const LinkShare> shares, Joined joined) {
    const FootprintId id = add_footprint(shares);
    footprints_[index(id)].joined = static_cast<std::uint32_t>(joined_.size());
    joined_.push_back(std::move(joined));
    return id;
}

// Those of which some part is no longer held. True if there were any: then the sweep has to go on
// with their parts.
bool FluidRates::part_flows() {
    if (joined_.empty()) {
        return false;
    }
    bool any = false;
    // Flows that take another one's place are frozen only by the next sweep.
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
    const Joined& joined = joined_[flow.joined];
    for (const FootprintId part : joined.parts) {
        const std::uint32_t id = static_cast<std::uint32_t>(index(progress_.add_work(work)));
        describe(id, part, flow.rate_max);
        add_to_links(id);
        if (joined.flows) {
            parted_.push_back({.whole = FlowId{f}, .flow = FlowId{id}});
        } else {
            flows_[id].whole = f;
        }
    }
    flows_[f].parts_left = static_cast<std::uint32_t>(joined.parts.size());
}

// Each of its parts, if there are several.
bool FluidRates::is_held(std::uint32_t f, Level level) {
    const Flow& flow = flows_[f];
    if (flow.joined == kNone) {
        return flow.bound == level || has_level(flow.footprint, level);
    }
    Joined& joined = joined_[flow.joined];
    if (std::min(flow.rate_max, common_bound(joined)) == level) {
        return true;
    }
    return std::ranges::all_of(joined.holders, [&](FootprintId holders) {
        return bound_of(holders) == level || has_level(holders, level);
    });
}

// Does a link saturate there?
bool FluidRates::has_level(FootprintId footprint, Level level) const {
    const auto shares = shares_of(footprint);
    return std::any_of(shares.begin(), shares.end(), [&](const LinkShare& share) {
        return links_[index(share.link)].level == level;
    });
}

FluidRates::Level FluidRates::common_bound(Joined& joined) {
    if (joined.bound_version != capacities_version_) {
        joined.bound_version = capacities_version_;
        joined.bound = bound_of(joined.holders.front());
        for (const FootprintId holders : joined.holders) {
            if (bound_of(holders) != joined.bound) {
                joined.bound = kNever;
                break;
            }
        }
    }
    return joined.bound;
}

}  // namespace orrery
