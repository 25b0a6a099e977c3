// SPDX-License-Identifier: Apache-2.0
// Plans of an NcclNetwork for transfers that move as packets. What carries packets is watched: its
// transfers always go through SharedRates, with all their links. Such a link offers what packets
// can carry of payload, its headers being their own; and what the way there and back costs a lone
// packet is taken off the start-up of every transfer, for NCCL's constants have it already. So a
// transfer alone on its path takes the same as in fluid, but for the size of headers, and whatever
// else it takes is queues, losses and rates that have to be found.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/program/network_model.h"
#include "network/nccl_network.h"
#include "network/packet/simulation.h"

namespace orrery {

class PacketNetwork final : public NetworkModel {
public:
    // The network numbers its connections, and outlives this. The topology is its fabric's; links
    // of that which are slower than their kind are so here too.
    static Result<PacketNetwork> make(const NcclNetwork& network,
                                      packet::Topology topology,
                                      const packet::PacketParameters& parameters);

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;
    TransferPlan plan_exchange(const Exchange& exchange, std::span<const RankId> members) const;
    std::span<const LinkInfo> links() const override { return links_; }
    std::span<const std::string> link_class_names() const override {
        return network_->link_class_names();
    }
    bool has_contention() const override { return true; }

    // As the fluid model has them, connections included.
    std::span<const LinkInfo> fluid_links() const { return network_->links(); }
    const packet::Topology& topology() const { return topology_; }
    const packet::PacketParameters& parameters() const { return parameters_; }
    Bytes payload() const {
        return Bytes{std::int64_t{parameters_.packet_bytes} - parameters_.header_bytes};
    }
    bool is_connection(LinkId link) const { return index(link) >= first_connection_; }
    bool carries_packets(LinkId link) const;
    // One packet of it there and its ACK back, less what its payload takes on the first link.
    Time overhead(LinkId connection) const;
    packet::FlowSpec flow(LinkId connection, Bytes bytes, Time start) const;
    std::string port_name(std::uint32_t port) const;

private:
    PacketNetwork(const NcclNetwork& network,
                  packet::Topology topology,
                  const packet::PacketParameters& parameters);
    void take_slow_links();
    Bandwidth payload_rate(std::uint32_t port) const;
    TransferPlan adapted(TransferPlan plan) const;
    void update_links() const;
    const NicConnection& connection(LinkId link) const;
    std::vector<std::uint32_t> ports_of(const NicConnection& connection) const;

    const NcclNetwork* network_;
    packet::Topology topology_;
    packet::PacketParameters parameters_;
    std::size_t first_connection_;
    std::vector<std::uint32_t> link_of_port_;
    mutable std::vector<LinkInfo> links_;
    mutable std::map<std::size_t, Time> overheads_;  // by links on the way
};

}  // namespace orrery
