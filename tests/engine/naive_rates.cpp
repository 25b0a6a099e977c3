// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/naive_rates.h"

#include <algorithm>

#include "engine/base/check.h"
#include "tests/reference/max_min.h"

namespace orrery {

FootprintId NaiveRates::add_footprint(std::span<const LinkShare> footprint) {
    footprints_.emplace_back(footprint.begin(), footprint.end());
    return to_id<FootprintId>(footprints_.size() - 1);
}

FlowId NaiveRates::start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) {
    ORRERY_CHECK(bytes > Bytes{});
    advance(now);
    FlowId id{};
    while (flows_.contains(id)) {
        id = to_id<FlowId>(index(id) + 1);
    }
    flows_[id] = Flow{footprint, rate_max, static_cast<__int128>(bytes.count()) * 8000000000000, 0};
    ++num_flows_;
    return id;
}

FlowId NaiveRates::start_under_way(
    Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) {
    const FlowId id = start(now, footprint, bytes, rate_max);
    flows_[id].left -=
        static_cast<__int128>(rate_max.bits_per_second()) * (now - since).picoseconds();
    return id;
}

void NaiveRates::advance(Time now) {
    for (auto& [id, flow] : flows_) {
        flow.left -= static_cast<__int128>(flow.rate) * (now - now_).picoseconds();
    }
    now_ = now;
}

void NaiveRates::settle(Time now) {
    advance(now);
    ++num_solves_;
    std::vector<reference::MaxMinFlow> in_flight;
    for (const auto& [id, flow] : flows_) {
        in_flight.push_back({footprints_[index(flow.footprint)], flow.rate_max});
    }
    const std::vector<std::int64_t> rates = reference::max_min_rates(links_, in_flight);
    std::size_t i = 0;
    for (auto& [id, flow] : flows_) {
        flow.rate = rates[i++];
    }
}

Time NaiveRates::next_completion() const {
    Time next = Time::max();
    for (const auto& [id, flow] : flows_) {
        if (flow.rate > 0) {
            const auto ps = static_cast<std::int64_t>((flow.left + flow.rate - 1) / flow.rate);
            next = std::min(next, now_ + Time::picoseconds(std::max<std::int64_t>(ps, 0)));
        }
    }
    return next;
}

void NaiveRates::pop_completed(Time now, std::vector<FlowId>& ended) {
    advance(now);
    ended.clear();
    std::erase_if(flows_, [&](const auto& entry) {
        const bool over = entry.second.left <= 0;
        if (over) {
            ended.push_back(entry.first);
        }
        return over;
    });
}

Bytes NaiveRates::stop(Time now, FlowId flow) {
    advance(now);
    constexpr __int128 kPerByte = 8000000000000;
    const __int128 left = flows_.at(flow).left;
    flows_.erase(flow);
    return Bytes(static_cast<std::int64_t>((left + kPerByte - 1) / kPerByte));
}

void NaiveRates::set_capacity(Time now, LinkId link, Bandwidth capacity) {
    advance(now);
    links_[index(link)].capacity = capacity;
}

Bandwidth NaiveRates::rate(FlowId flow) const {
    return Bandwidth::bits_per_second(flows_.at(flow).rate);
}

}  // namespace orrery
