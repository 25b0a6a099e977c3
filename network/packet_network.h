// SPDX-License-Identifier: Apache-2.0
// Plans of an NcclNetwork for transfers that move as packets. Links that carry packets are watched:
// their transfers always go through SharedRates, with all their links. Such a link offers the
// bandwidth of its packets' payload. The round-trip time of a single packet is subtracted from the
// start-up of every transfer, because NCCL's constants already include it. A transfer alone on its
// path therefore takes the same time as in the fluid model, apart from the size of headers.
// Additional time comes from queues, losses and the search for rates.
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
    // The network must number its connections and outlive this object. The topology must be that of
    // its fabric. Links of the fabric that are slower than their kind are slower here, too.
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

    // The links of the fluid model, including connections.
    std::span<const LinkInfo> fluid_links() const { return network_->links(); }
    const packet::Topology& topology() const { return topology_; }
    const packet::PacketParameters& parameters() const { return parameters_; }
    Bytes payload() const {
        return Bytes{std::int64_t{parameters_.packet_bytes} - parameters_.header_bytes};
    }
    bool is_connection(LinkId link) const { return index(link) >= first_connection_; }
    bool carries_packets(LinkId link) const;
    // The time of one packet there and its ACK back, without the time of its payload on the first
    // link.
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
    mutable std::map<std::size_t, Time> overheads_;  // by number of links on the path
};

}  // namespace orrery
