// SPDX-License-Identifier: Apache-2.0
#include "network/fluid/uncontended.h"

#include <algorithm>
#include <limits>

#include "engine/base/check.h"
#include "engine/world/rate_alone.h"

namespace orrery {
namespace {

constexpr Bandwidth kNoCap = Bandwidth::bits_per_second(std::numeric_limits<std::int64_t>::max());

Bandwidth share_of_capacities(std::span<const LinkShare> footprint,
                              std::span<const Bandwidth> capacities) {
    return Bandwidth::bits_per_second(narrowest_share(
        footprint, [&](LinkId link) { return capacities[index(link)].bits_per_second(); }));
}

}  // namespace

UncontendedRates::UncontendedRates(std::span<const LinkInfo> links) {
    for (const LinkInfo& link : links) {
        capacities_.push_back(link.capacity);
    }
}

FootprintId UncontendedRates::add_footprint(std::span<const LinkShare> footprint) {
    const FootprintId id = footprints_.add(footprint, capacities_.size());
    narrowest_.push_back(share_of_capacities(footprint, capacities_));
    return id;
}

FlowId UncontendedRates::start(Time, FootprintId footprint, Bytes bytes, Bandwidth rate_max) {
    const FlowId flow = progress_.add(bytes);
    enter(flow, footprint, rate_max);
    return flow;
}

FlowId UncontendedRates::start_under_way(
    Time, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) {
    const FlowId flow = progress_.add_under_way(bytes, since, rate_max);
    enter(flow, footprint, rate_max);
    return flow;
}

void UncontendedRates::enter(FlowId flow, FootprintId footprint, Bandwidth rate_max) {
    flows_.resize(progress_.num_ids());
    const Bandwidth cap = rate_max == Bandwidth{} ? kNoCap : rate_max;
    ORRERY_CHECK(cap < kNoCap || narrowest_[index(footprint)] < kNoCap);
    flows_[index(flow)] = Flow{.footprint = footprint, .rate_max = cap, .in_flight = true};
    new_flows_.push_back(flow);
    ++num_flows_started_;
}

void UncontendedRates::settle(Time now) {
    if (new_flows_.empty() && !capacities_changed_) {
        return;
    }
    ++num_solves_;
    if (capacities_changed_) {
        for (std::size_t f = 0; f < narrowest_.size(); ++f) {
            narrowest_[f] = share_of_capacities(footprints_[to_id<FootprintId>(f)], capacities_);
        }
        for (std::size_t f = 0; f < flows_.size(); ++f) {
            if (flows_[f].in_flight) {
                update_rate(now, to_id<FlowId>(f));
            }
        }
    } else {
        for (const FlowId flow : new_flows_) {
            update_rate(now, flow);
        }
    }
    new_flows_.clear();
    capacities_changed_ = false;
}

void UncontendedRates::update_rate(Time now, FlowId id) {
    const Flow& flow = flows_[index(id)];
    progress_.set_rate(now, id, std::min(flow.rate_max, narrowest_[index(flow.footprint)]));
}

void UncontendedRates::pop_completed(Time now, std::vector<FlowId>& ended) {
    progress_.pop_ended(now, ended);
    for (const FlowId flow : ended) {
        flows_[index(flow)].in_flight = false;
    }
}

Bytes UncontendedRates::stop(Time now, FlowId flow) {
    flows_[index(flow)].in_flight = false;
    std::erase(new_flows_, flow);
    return progress_.remove(now, flow);
}

void UncontendedRates::set_capacity(Time, LinkId link, Bandwidth capacity) {
    ORRERY_CHECK(capacity >= Bandwidth{});
    capacities_[index(link)] = capacity;
    capacities_changed_ = true;
}

}  // namespace orrery
