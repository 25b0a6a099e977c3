// SPDX-License-Identifier: Apache-2.0
#include "network/packet_rates.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

PacketRates::PacketRates(const PacketNetwork& network, std::optional<PacketWindow> window)
    : network_(network),
      window_(window.value_or(PacketWindow{.begin = Time::max()})),
      fluid_(network.fluid_links()) {
    ORRERY_CHECK(window_.begin <= window_.end);
    if (window) {
        auto simulation = packet::Simulation::create(network.topology(), network.parameters());
        ORRERY_CHECK(simulation.has_value());
        simulation_ = std::move(*simulation);
    }
    entered_ = window_.begin <= Time{};
}

FootprintId PacketRates::add_footprint(std::span<const LinkShare> footprint) {
    Way way;
    std::vector<LinkShare> whole;
    std::vector<LinkShare> local;
    for (const LinkShare& share : footprint) {
        if (network_.is_connection(share.link)) {
            way.connections.push_back(share);
            way.overhead = std::max(way.overhead, network_.overhead(share.link));
            continue;
        }
        whole.push_back(share);
        if (!network_.carries_packets(share.link)) {
            local.push_back(share);
        }
    }
    way.whole = fluid_.add_footprint(whole);
    way.local = way.connections.empty() ? way.whole : fluid_.add_footprint(local);
    ways_.push_back(std::move(way));
    return to_id<FootprintId>(ways_.size() - 1);
}

std::uint32_t PacketRates::take_id() {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
        transfers_.emplace_back();
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    transfers_[id] = Transfer{};
    transfers_[id].in_flight = true;
    ++num_started_;
    return id;
}

void PacketRates::note_start(Time now, Transfer& transfer) {
    transfer.number = static_cast<std::uint32_t>(started_.size());
    StartedTransfer& started =
        started_.emplace_back(StartedTransfer{.way = transfer.way, .at = now});
    const std::int64_t payload = network_.payload().count();
    for (const LinkShare& share : ways_[index(transfer.way)].connections) {
        started.packets += (transfer.bytes.count() * share.count + payload - 1) / payload;
    }
}

FlowId PacketRates::start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) {
    const std::uint32_t id = take_id();
    Transfer& transfer = transfers_[id];
    const Way& way = ways_[index(footprint)];
    transfer.way = footprint;
    transfer.bytes = bytes;
    transfer.rate_max = rate_max;
    const bool network = !way.connections.empty();
    if (network) {
        note_start(now, transfer);
    }
    if (network && in_window(now)) {
        start_packets(now, id);
    } else {
        start_fluid(now, id, way.whole);
    }
    return to_id<FlowId>(id);
}

FlowId PacketRates::start_under_way(
    Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) {
    const Way& way = ways_[index(footprint)];
    ORRERY_CHECK(way.connections.empty());
    const std::uint32_t id = take_id();
    Transfer& transfer = transfers_[id];
    transfer.way = footprint;
    transfer.bytes = bytes;
    transfer.rate_max = rate_max;
    transfer.fluid = fluid_.start_under_way(now, way.whole, bytes, rate_max, since);
    transfer.fluid_flows = true;
    owner_of_fluid_.resize(std::max(owner_of_fluid_.size(), index(transfer.fluid) + 1));
    owner_of_fluid_[index(transfer.fluid)] = id;
    return to_id<FlowId>(id);
}

void PacketRates::start_fluid(Time now, std::uint32_t id, FootprintId footprint) {
    Transfer& transfer = transfers_[id];
    transfer.fluid = fluid_.start(now, footprint, transfer.bytes, transfer.rate_max);
    transfer.fluid_flows = true;
    owner_of_fluid_.resize(std::max(owner_of_fluid_.size(), index(transfer.fluid) + 1));
    owner_of_fluid_[index(transfer.fluid)] = id;
}

void PacketRates::start_packets(Time now, std::uint32_t id) {
    Transfer& transfer = transfers_[id];
    const Way& way = ways_[index(transfer.way)];
    start_fluid(now, id, way.local);
    transfer.sent.clear();
    for (const LinkShare& share : way.connections) {
        const Bytes bytes = transfer.bytes * std::int64_t{share.count};
        const auto flow = simulation_->add_flow(network_.flow(share.link, bytes, now));
        ORRERY_CHECK(flow.has_value());
        transfer.sent.push_back(*flow);
        owner_of_packets_.resize(std::max<std::size_t>(owner_of_packets_.size(), *flow + 1));
        owner_of_packets_[*flow] = id;
    }
    transfer.num_sent = static_cast<std::uint32_t>(transfer.sent.size());
}

Time PacketRates::next_boundary() const {
    return !entered_ ? window_.begin : !left_ ? window_.end : Time::max();
}

Time PacketRates::next_completion() const {
    if (!over_.empty()) {
        return packet_now_;
    }
    const Time arrival = arrivals_.empty() ? Time::max() : arrivals_.top().first;
    return std::min({fluid_.next_completion(), arrival, next_boundary()});
}

Time PacketRates::run_until(Time limit) {
    limit = std::min(limit, next_completion());
    while (simulation_ && over_.empty() && simulation_->run_until(limit, ended_)) {
        packet_now_ = simulation_->now();
        for (const std::uint32_t flow : ended_) {
            const std::uint32_t id = owner_of_packets_[flow];
            use_.failed += simulation_->flow(flow).state == packet::FlowState::failed ? 1 : 0;
            if (--transfers_[id].num_sent == 0 && over(transfers_[id])) {
                over_.push_back(id);
            }
        }
    }
    return next_completion();
}

void PacketRates::take_fluid_ends(Time now) {
    if (fluid_.next_completion() != now) {
        return;
    }
    fluid_.pop_completed(now, fluid_ended_);
    for (const FlowId flow : fluid_ended_) {
        const std::uint32_t id = owner_of_fluid_[index(flow)];
        transfers_[id].fluid_flows = false;
        ++transfers_[id].arriving;
        arrivals_.emplace(now + ways_[index(transfers_[id].way)].overhead, id);
    }
}

void PacketRates::pop_completed(Time now, std::vector<FlowId>& ended) {
    take_fluid_ends(now);
    std::vector<std::uint32_t> over;
    std::swap(over, over_);
    while (!arrivals_.empty() && arrivals_.top().first == now) {
        const std::uint32_t id = arrivals_.top().second;
        arrivals_.pop();
        --transfers_[id].arriving;
        if (this->over(transfers_[id])) {
            over.push_back(id);
        }
    }
    if (next_boundary() == now) {
        entered_ ? leave_window(now) : enter_window(now);
    }
    std::sort(over.begin(), over.end());
    ended.clear();
    for (const std::uint32_t id : over) {
        ended.push_back(to_id<FlowId>(id));
        transfers_[id].in_flight = false;
        if (!ways_[index(transfers_[id].way)].connections.empty()) {
            started_[transfers_[id].number].end = now;
        }
        free_.push_back(id);
    }
}

void PacketRates::enter_window(Time now) {
    entered_ = true;
    for (std::uint32_t id = 0; id < transfers_.size(); ++id) {
        Transfer& transfer = transfers_[id];
        if (transfer.in_flight && transfer.fluid_flows && transfer.num_sent == 0 &&
            !ways_[index(transfer.way)].connections.empty()) {
            transfer.bytes = fluid_.stop(now, transfer.fluid);
            start_packets(now, id);
        }
    }
}

// The remaining bytes of the slowest connection and of the fluid part. Ends the fluid part.
Bytes PacketRates::left_of(Time now, Transfer& transfer) {
    Bytes left = transfer.fluid_flows ? fluid_.stop(now, transfer.fluid) : Bytes{};
    const Way& way = ways_[index(transfer.way)];
    for (std::size_t i = 0; i < transfer.sent.size(); ++i) {
        const std::int64_t times = way.connections[i].count;
        const std::int64_t moved = simulation_->flow(transfer.sent[i]).bytes_received;
        const std::int64_t rest = transfer.bytes.count() * times - moved;
        left = std::max(left, Bytes{(rest + times - 1) / times});
    }
    return left;
}

void PacketRates::leave_window(Time now) {
    left_ = true;
    for (std::uint32_t id = 0; id < transfers_.size(); ++id) {
        Transfer& transfer = transfers_[id];
        if (!transfer.in_flight || transfer.num_sent == 0) {
            continue;
        }
        const bool flows = transfer.fluid_flows;
        const Bytes left = left_of(now, transfer);
        transfer.fluid_flows = false;
        transfer.num_sent = 0;
        transfer.sent.clear();
        // If the last ACK is in flight, the arrival of the fluid part represents it.
        transfer.bytes = std::max(left, Bytes{1});
        if (flows || left > Bytes{} || transfer.arriving == 0) {
            start_fluid(now, id, ways_[index(transfer.way)].whole);
        }
    }
    if (simulation_) {
        use_ = use();
        simulation_.reset();
    }
}

Bytes PacketRates::stop(Time now, FlowId flow) {
    Transfer& transfer = transfers_[index(flow)];
    ORRERY_CHECK(transfer.in_flight && transfer.fluid_flows && transfer.num_sent == 0);
    const Bytes left = fluid_.stop(now, transfer.fluid);
    transfer.in_flight = false;
    free_.push_back(static_cast<std::uint32_t>(index(flow)));
    return left;
}

void PacketRates::set_capacity(Time now, LinkId link, Bandwidth capacity) {
    ORRERY_CHECK(!network_.carries_packets(link));  // faults in a step exist from its start
    fluid_.set_capacity(now, link, capacity);
}

Bandwidth PacketRates::rate(FlowId flow) const {
    const Transfer& transfer = transfers_[index(flow)];
    return transfer.fluid_flows ? fluid_.rate(transfer.fluid) : Bandwidth{};
}

PacketUse PacketRates::use() const {
    if (!simulation_) {
        return use_;
    }
    PacketUse use = use_;
    use.totals = simulation_->totals();
    const packet::Topology& topology = network_.topology();
    for (std::uint32_t port = 0; port < topology.num_ports(); ++port) {
        const packet::PortStatistics statistics = simulation_->port(port);
        use.paused_max = std::max(use.paused_max, statistics.paused);
        if (Bytes{statistics.queue_max} > use.queue_max &&
            !topology.is_host(topology.port(port).from)) {
            use.queue_max = Bytes{statistics.queue_max};
            use.queue_at = network_.port_name(port);
        }
    }
    return use;
}

}  // namespace orrery
