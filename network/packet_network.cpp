// SPDX-License-Identifier: Apache-2.0
#include "network/packet_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/check.h"

namespace orrery {
namespace {

constexpr std::uint32_t kPortWithoutLink = ~0U;

Bandwidth scaled(Bandwidth rate, double share) {
    const double bits = static_cast<double>(rate.bits_per_second()) * share;
    return Bandwidth::bits_per_second(std::max<std::int64_t>(1, std::llround(bits)));
}

}  // namespace

Result<PacketNetwork> PacketNetwork::make(const NcclNetwork& network,
                                          packet::Topology topology,
                                          const packet::PacketParameters& parameters) {
    const auto checked = packet::Simulation::create(topology, parameters);
    if (!checked) {
        return unexpected<Error>(checked.error());
    }
    return PacketNetwork{network, std::move(topology), parameters};
}

PacketNetwork::PacketNetwork(const NcclNetwork& network,
                             packet::Topology topology,
                             const packet::PacketParameters& parameters)
    : network_(&network),
      topology_(std::move(topology)),
      parameters_(parameters),
      first_connection_(network.fabric().links().size()),
      link_of_port_(topology_.num_ports(), kPortWithoutLink) {
    for (std::size_t link = 0; link < first_connection_; ++link) {
        const std::uint32_t port = topology_.port_of(to_id<LinkId>(link));
        if (port < link_of_port_.size()) {
            link_of_port_[port] = static_cast<std::uint32_t>(link);
        }
    }
    take_slow_links();
    update_links();
}

// A fault may have made links slower than their kind in the fabric.
void PacketNetwork::take_slow_links() {
    constexpr double kRounding = 1e-6;
    const Fabric& fabric = network_->fabric();
    for (std::uint32_t port = 0; port < link_of_port_.size(); ++port) {
        if (link_of_port_[port] == kPortWithoutLink) {
            continue;
        }
        const Bandwidth raw = topology_.port(port).rate;
        const auto capacity =
            static_cast<double>(fabric.links()[link_of_port_[port]].capacity.bits_per_second());
        const double share = capacity / (static_cast<double>(raw.bits_per_second()) *
                                         fabric.spec().fabric.efficiency);
        if (share < 1 - kRounding) {
            topology_.set_rate(port, scaled(raw, share));
        }
    }
}

bool PacketNetwork::carries_packets(LinkId link) const {
    return !is_connection(link) && topology_.port_of(link) < topology_.num_ports();
}

Bandwidth PacketNetwork::payload_rate(std::uint32_t port) const {
    return scaled(topology_.port(port).rate,
                  static_cast<double>(payload().count()) / parameters_.packet_bytes);
}

// Planning may have opened connections.
void PacketNetwork::update_links() const {
    const std::span<const LinkInfo> known = network_->links();
    for (std::size_t l = links_.size(); l < known.size(); ++l) {
        LinkInfo info = known[l];
        const LinkId link = to_id<LinkId>(l);
        if (carries_packets(link)) {
            info.capacity = payload_rate(topology_.port_of(link));
        }
        info.watched = is_connection(link) || carries_packets(link);
        links_.push_back(info);
    }
}

TransferPlan PacketNetwork::plan(const TransferCall& call, std::span<const RankId> members) const {
    return adapted(network_->plan(call, members));
}

TransferPlan PacketNetwork::plan_exchange(const Exchange& exchange,
                                          std::span<const RankId> members) const {
    return adapted(network_->plan_exchange(exchange, members));
}

TransferPlan PacketNetwork::adapted(TransferPlan plan) const {
    update_links();
    for (TransferPhase& phase : plan.phases) {
        Time longest;
        for (const TransferPart& part : phase.parts) {
            for (const LinkShare& share : part.footprint) {
                if (is_connection(share.link)) {
                    longest = std::max(longest, overhead(share.link));
                }
            }
        }
        phase.latency = std::max(Time{}, phase.latency - longest);
    }
    return plan;
}

const NicConnection& PacketNetwork::connection(LinkId link) const {
    return network_->connections()[index(link) - first_connection_];
}

std::vector<std::uint32_t> PacketNetwork::ports_of(const NicConnection& connection) const {
    std::vector<std::uint32_t> ports;
    for (const LinkId link : connection.links) {
        if (carries_packets(link)) {
            ports.push_back(topology_.port_of(link));
        }
    }
    return ports;
}

packet::FlowSpec PacketNetwork::flow(LinkId link, Bytes bytes, Time start) const {
    const NicConnection& c = connection(link);
    const bool single = parameters_.spray == packet::SprayKind::single;
    return {.source = topology_.host_of(c.from),
            .destination = topology_.host_of(c.to),
            .bytes = bytes,
            .start = start,
            .path = single ? ports_of(c) : std::vector<std::uint32_t>{},
            .label = static_cast<std::uint32_t>(c.label ^ c.label >> 32U) + c.queue_pair};
}

Time PacketNetwork::overhead(LinkId link) const {
    const std::vector<std::uint32_t> ports = ports_of(connection(link));
    const auto known = overheads_.find(ports.size());
    if (known != overheads_.end()) {
        return known->second;
    }
    auto alone = packet::Simulation::create(topology_, parameters_);
    ORRERY_CHECK(alone.has_value());
    const auto added = alone->add_flow(flow(link, payload(), Time{}));
    ORRERY_CHECK(added.has_value());
    alone->run();
    const Time taken = alone->flow(*added).end;
    const Time sent = payload() / payload_rate(ports.front());
    return overheads_[ports.size()] = std::max(Time{}, taken - sent);
}

std::string PacketNetwork::port_name(std::uint32_t port) const {
    return link_of_port_[port] == kPortWithoutLink
               ? topology_.port_name(port)
               : network_->fabric().link_name(to_id<LinkId>(link_of_port_[port]));
}

}  // namespace orrery
