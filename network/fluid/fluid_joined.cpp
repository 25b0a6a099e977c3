// SPDX-License-Identifier: Apache-2.0
// The part of FluidRates (network/fluid/fluid.h) that moves several parts as one flow. All parts
// have the same rate x if each of them crosses a link that saturates at x: that is then the least
// level of each part's links, and x is the fixed point for the parts as well. Parts of a message
// share such a link, which all of them cross equally; flows that end separately have one each. A
// joined flow is therefore correct while those links, or its cap, hold it. Each sweep ends with
// this check.
#include <algorithm>

#include "network/fluid/fluid.h"

namespace orrery {

namespace {

// The sum of all parts' footprints, and the links in it that all parts cross equally.
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

// Separates the flows with a part that is no longer held. True if there were any: the sweep must
// then continue with their parts.
bool FluidRates::part_flows() {
    if (joined_.empty()) {
        return false;
    }
    bool any = false;
    // The flows that replace another one are frozen only by the next sweep.
    for (const std::uint32_t f : frozen_flows_) {
        if (flows_[f].joined != kNone && rates_[f] != kNever && !is_held(f, rates_[f])) {
            part(f);
            any = true;
        }
    }
    return any;
}

// Until now all parts have had equal progress.
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

// For a joined flow: whether each of its parts is held.
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

// Whether a link of the footprint saturates at this level.
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
