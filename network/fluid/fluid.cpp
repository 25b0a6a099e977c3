// SPDX-License-Identifier: Apache-2.0
#include "network/fluid/fluid.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"
#include "engine/base/prefetch.h"
#include "engine/world/rate_alone.h"
#include "network/fluid/footprint_table.h"

namespace orrery {
namespace {

constexpr auto kLater = [](const auto& a, const auto& b) { return a.level > b.level; };

std::uint32_t number(auto id) {
    return static_cast<std::uint32_t>(index(id));
}

}  // namespace

FluidRates::FluidRates(std::span<const LinkInfo> links) : links_(links.size()) {
    for (std::size_t l = 0; l < links.size(); ++l) {
        links_[l].capacity = links[l].capacity.bits_per_second();
    }
}

FootprintId FluidRates::add_footprint(std::span<const LinkShare> footprint) {
    check_footprint(footprint, links_.size());
    footprints_.push_back({.first = static_cast<std::uint32_t>(shares_.size()),
                           .size = static_cast<std::uint32_t>(footprint.size())});
    shares_.insert(shares_.end(), footprint.begin(), footprint.end());
    return to_id<FootprintId>(footprints_.size() - 1);
}

void FluidRates::find_bound(FootprintId id, Footprint& footprint) {
    footprint.bound = narrowest_share(shares_of(id),
                                      [this](LinkId link) { return links_[index(link)].capacity; });
    footprint.bound_version = capacities_version_;
}

FlowId FluidRates::start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) {
    const FlowId id = progress_.add(bytes);
    enter(now, id, footprint, rate_max);
    return id;
}

FlowId FluidRates::start_under_way(
    Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) {
    const FlowId id = progress_.add_under_way(bytes, since, rate_max);
    enter(now, id, footprint, rate_max);
    return id;
}

// The flow is put on its links only at settle(): by then these are in the cache.
void FluidRates::enter(Time now, FlowId id, FootprintId footprint, Bandwidth rate_max) {
    ORRERY_CHECK(now >= now_);
    now_ = now;
    describe(number(id), footprint, rate_max == Bandwidth{} ? kNever : rate_max.bits_per_second());
    const std::uint32_t joined = footprints_[index(footprint)].joined;
    num_flows_started_ += joined == kNone ? 1 : joined_[joined].num_flows;
    changed_ = true;
    entering_.push_back(number(id));
    prefetch_links(shares_of(footprint));
}

void FluidRates::describe(std::uint32_t f, FootprintId footprint, Level rate_max) {
    if (f == flows_.size()) {
        flows_.emplace_back();
        rates_.emplace_back();
    }
    flows_[f] = {.rate_max = rate_max,
                 .footprint = footprint,
                 .joined = footprints_[index(footprint)].joined};
    rates_[f] = kNever;
}

void FluidRates::enter_links() {
    for (const std::uint32_t flow : entering_) {
        add_to_links(flow);
    }
    entering_.clear();
}

void FluidRates::add_to_links(std::uint32_t f) {
    Flow& flow = flows_[f];
    flow.bound = std::min(flow.rate_max, bound_of(flow.footprint));
    ORRERY_CHECK(flow.bound < kNever);
    for (const LinkShare& share : shares_of(flow.footprint)) {
        Link& link = links_[index(share.link)];
        crossings_.add(link.crossings, {.flow = f, .count = share.count});
        link.bound_sum += share.count * flow.bound;
        link.count_sum += share.count;
        if (!link.slack || !has_room(link)) {
            touch(number(share.link));
        }
    }
    new_flows_.push_back(f);
}

void FluidRates::pop_completed(Time now, std::vector<FlowId>& ended) {
    ORRERY_CHECK(now >= now_);
    now_ = now;
    progress_.pop_ended(now, ended);
    for (const FlowId flow : ended) {
        prefetch_links(shares_of(flows_[index(flow)].footprint));
    }
    bool apart = false;
    for (FlowId& flow : ended) {
        remove(number(flow));
        const std::uint32_t whole = flows_[index(flow)].whole;
        if (whole != kNone) {
            const bool last = --flows_[whole].parts_left == 0;
            flow = FlowId{last ? whole : kNone};
            apart = true;
        }
    }
    if (apart) {  // a separated flow ends with its last part
        std::erase(ended, FlowId{kNone});
        std::ranges::sort(ended);
        for (const FlowId flow : ended) {
            if (rates_[index(flow)] == kNever) {
                progress_.free(flow);
            }
        }
    }
}

Bytes FluidRates::stop(Time now, FlowId id) {
    ORRERY_CHECK(now >= now_);
    now_ = now;
    const std::uint32_t f = number(id);
    if (std::erase(entering_, f) == 0) {
        std::erase(new_flows_, f);
        std::erase(rebound_flows_, f);
        remove(f);
    }
    return progress_.remove(now, id);
}

void FluidRates::remove(std::uint32_t f) {
    changed_ = true;
    const Flow& flow = flows_[f];
    for (const LinkShare& share : shares_of(flow.footprint)) {
        Link& link = links_[index(share.link)];
        crossings_.remove(link.crossings, f);
        link.bound_sum -= share.count * flow.bound;
        link.count_sum -= share.count;
        if (!link.slack) {  // a slack link stays slack
            touch(number(share.link));
        }
    }
}

// Links are scattered in memory: prefetch the common part of all of them.
void FluidRates::prefetch_links(std::span<const LinkShare> shares) const {
    for (const LinkShare& share : shares) {
        prefetch_line(&links_[index(share.link)]);
    }
}

void FluidRates::set_capacity(Time now, LinkId id, Bandwidth capacity) {
    ORRERY_CHECK(now >= now_ && capacity >= Bandwidth{});
    now_ = now;
    Link& link = links_[index(id)];
    link.capacity = capacity.bits_per_second();
    ++capacities_version_;
    touch(number(id));
    for (const Crossing& crossing : crossings_.of(link.crossings)) {
        change_bound(crossing.flow);
    }
}

void FluidRates::change_bound(std::uint32_t f) {
    Flow& flow = flows_[f];
    const Level bound = std::min(flow.rate_max, bound_of(flow.footprint));
    const Level change = bound - flow.bound;
    if (change == 0) {
        return;
    }
    flow.bound = bound;
    for (const LinkShare& share : shares_of(flow.footprint)) {
        Link& link = links_[index(share.link)];
        link.bound_sum += share.count * change;
        touch(number(share.link));
    }
    rebound_flows_.push_back(f);
}

void FluidRates::touch(std::uint32_t link) {
    if (!links_[link].touched) {
        links_[link].touched = true;
        touched_links_.push_back(link);
    }
}

void FluidRates::settle(Time now) {
    ORRERY_CHECK(now >= now_);
    now_ = now;
    parted_.clear();
    if (!changed_ && touched_links_.empty()) {
        return;
    }
    ++num_solves_;
    enter_links();
    do {
        seed();
        for (Level level = next_level(); level != kNever; level = next_level()) {
            sweep_level(level);
            find_stale_keys(level);
        }
        new_flows_.clear();
    } while (part_flows());
    changed_ = false;
    for (const std::uint32_t f : frozen_flows_) {
        if (flows_[f].parts_left == 0) {
            progress_.set_rate(now, FlowId{f}, Bandwidth::bits_per_second(rates_[f]));
        }
    }
    frozen_flows_.clear();
    for (std::size_t i = 0; i < parted_.size(); ++i) {
        if (i == 0 || parted_[i].whole != parted_[i - 1].whole) {
            progress_.free(parted_[i].whole);
        }
    }
}

void FluidRates::seed() {
    for (const std::uint32_t l : touched_links_) {
        Link& link = links_[l];
        link.touched = false;
        link.slack = is_slack(link);
        const Level key = std::min(link.level, link.slack ? kNever : saturation(link, 0));
        if (key != kNever) {
            link.key = key;
            link_events_.push_back({.level = key, .id = l});
        }
    }
    std::make_heap(link_events_.begin(), link_events_.end(), kLater);
    touched_links_.clear();

    const auto lower_bound = [this](std::uint32_t a, std::uint32_t b) {
        return flows_[a].bound < flows_[b].bound;
    };
    if (!std::is_sorted(new_flows_.begin(), new_flows_.end(), lower_bound)) {
        std::sort(new_flows_.begin(), new_flows_.end(), lower_bound);
    }
    num_new_seen_ = 0;

    for (const std::uint32_t f : rebound_flows_) {
        if (rates_[f] != kNever) {  // not a new flow
            flow_events_.push_back({.level = std::min(rates_[f], flows_[f].bound), .id = f});
        }
    }
    std::make_heap(flow_events_.begin(), flow_events_.end(), kLater);
    rebound_flows_.clear();
}

// With each x <= bound, t_l >= bound_max if all flows at bound_max fit. If they fit at their own
// bounds, the mean bound of any set of flows fits; one more bit/s each covers the rounding of t_l.
bool FluidRates::is_slack(const Link& link) const {
    if (has_room(link)) {
        return true;
    }
    Level bound_max = 0;
    for (const Crossing& crossing : crossings_.of(link.crossings)) {
        bound_max = std::max(bound_max, flows_[crossing.flow].bound);
    }
    return static_cast<__int128>(bound_max) * link.count_sum <= link.capacity;
}

bool FluidRates::has_room(const Link& link) {
    return link.crossings.size <= 1 || link.bound_sum + link.count_sum <= link.capacity;
}

FluidRates::Level FluidRates::next_level() {
    while (num_new_seen_ < new_flows_.size() && rates_[new_flows_[num_new_seen_]] != kNever) {
        ++num_new_seen_;
    }
    Level level = kNever;
    if (num_new_seen_ < new_flows_.size()) {
        level = flows_[new_flows_[num_new_seen_]].bound;
    }
    if (!link_events_.empty()) {
        level = std::min(level, link_events_.front().level);
    }
    if (!flow_events_.empty()) {
        level = std::min(level, flow_events_.front().level);
    }
    return level;
}

void FluidRates::sweep_level(Level level) {
    while (!link_events_.empty() && link_events_.front().level == level) {
        const std::uint32_t link = link_events_.front().id;
        std::pop_heap(link_events_.begin(), link_events_.end(), kLater);
        link_events_.pop_back();
        look_at_link(level, link);
    }
    while (!flow_events_.empty() && flow_events_.front().level == level) {
        const std::uint32_t flow = flow_events_.front().id;
        std::pop_heap(flow_events_.begin(), flow_events_.end(), kLater);
        flow_events_.pop_back();
        look_at_flow(level, flow);
    }
    for (; num_new_seen_ < new_flows_.size(); ++num_new_seen_) {
        const std::uint32_t flow = new_flows_[num_new_seen_];
        if (flows_[flow].bound != level) {
            break;
        }
        if (rates_[flow] == kNever) {
            freeze(flow, level);
        }
    }
}

// All rates below `level` are final; a rate above it may still be lost.
void FluidRates::look_at_link(Level level, std::uint32_t l) {
    Link& link = links_[l];
    if (link.key != level) {
        return;  // an event that was moved forward
    }
    link.key = kNever;
    const Level saturates = link.slack ? kNever : saturation(link, level);
    if (saturates == level) {
        link.level = level;
        for (const Crossing& crossing : crossings_.of(link.crossings)) {
            if (rates_[crossing.flow] > level) {
                freeze(crossing.flow, level);
            }
        }
        return;
    }
    bool released = false;
    if (link.level == level) {  // it no longer holds its flows at this level
        link.level = kNever;
        for (const Crossing& crossing : crossings_.of(link.crossings)) {
            if (rates_[crossing.flow] == level && !is_held(crossing.flow, level)) {
                release(crossing.flow);
                released = true;
            }
        }
    }
    if (!released) {
        schedule_link(l, std::min(saturates, link.level));
    }
}

// The flow reaches its bound, or its old rate, which perhaps only its old bound held.
void FluidRates::look_at_flow(Level level, std::uint32_t f) {
    const bool at_bound = level == flows_[f].bound;
    if (at_bound && rates_[f] > level) {
        freeze(f, level);
    } else if (!at_bound && rates_[f] == level && !is_held(f, level)) {
        release(f);
    }
}

// s_l if no rate changed any more; it is known to be at least `from`.
FluidRates::Level FluidRates::saturation(const Link& link, Level from) const {
    Level level = from;
    while (true) {
        Level left = link.capacity;
        std::int64_t count = 0;
        for (const Crossing& crossing : crossings_.of(link.crossings)) {
            const Level rate = rates_[crossing.flow];
            if (rate < level) {
                left -= crossing.count * rate;
            } else {
                count += crossing.count;
            }
        }
        if (count == 0) {
            return kNever;
        }
        const Level share = left / count;
        if (share <= level) {
            return level;
        }
        level = share;
    }
}

// A flow that had a higher rate before leaves room on its links. Its saturated links must be
// visited again at their level.
void FluidRates::freeze(std::uint32_t f, Level level) {
    const bool had_rate = rates_[f] != kNever;
    rates_[f] = level;
    frozen_flows_.push_back(f);
    if (!had_rate) {
        return;
    }
    for (const LinkShare& share : shares_of(flows_[f].footprint)) {
        const Link& link = links_[index(share.link)];
        if (link.level > level) {
            schedule_link(number(share.link), link.level);
        }
    }
}

// No link holds the flow at its old rate: it is free, and rises until its bound or a link stops it.
void FluidRates::release(std::uint32_t f) {
    rates_[f] = kNever;
    flow_events_.push_back({.level = flows_[f].bound, .id = f});
    std::push_heap(flow_events_.begin(), flow_events_.end(), kLater);
    for (const LinkShare& share : shares_of(flows_[f].footprint)) {
        mark_stale(number(share.link));
    }
}

void FluidRates::mark_stale(std::uint32_t l) {
    Link& link = links_[l];
    if (!link.stale && !link.slack) {
        link.stale = true;
        stale_links_.push_back(l);
    }
}

void FluidRates::find_stale_keys(Level level) {
    for (const std::uint32_t l : stale_links_) {
        Link& link = links_[l];
        link.stale = false;
        schedule_link(l, std::min(link.level, saturation(link, level)));
    }
    stale_links_.clear();
}

// A key only moves forward here; a later key is found when the link is visited.
void FluidRates::schedule_link(std::uint32_t l, Level level) {
    Link& link = links_[l];
    if (level < link.key) {
        link.key = level;
        link_events_.push_back({.level = level, .id = l});
        std::push_heap(link_events_.begin(), link_events_.end(), kLater);
    }
}

}  // namespace orrery
