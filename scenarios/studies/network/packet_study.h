// SPDX-License-Identifier: Apache-2.0
// Runs messages between NICs on the packet model, while links and NICs follow network.events. If
// the fabric sprays, its packets do so. Otherwise a message takes the path of the fabric's routing,
// or, if links change, the path that the switches hash it to. Transfers inside servers are not
// packets: NVLink and PCIe take no time here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "network/fabric/fabric.h"
#include "network/fabric/traffic.h"
#include "network/nccl_network.h"
#include "network/packet/simulation.h"
#include "scenarios/format/specs/network_settings.h"
#include "scenarios/studies/network/flow_times.h"
#include "scenarios/studies/network/network_trace.h"

namespace orrery {

struct NicMessage {
    NicPort from;
    NicPort to;
    Bytes bytes;
    std::uint64_t label = 0;
    std::string name;  // of the message's track
    // For one queue pair of a connection: its number, and the path of its opening. Empty: the
    // message is split over all queue pairs, each on a path of its own.
    std::optional<std::uint32_t> queue_pair{};
    std::vector<LinkId> links{};
};

// A transfer's messages from NIC to NIC: its bytes on each connection of the plan. The numbers of
// connections are the network's, and the messages must run on its fabric.
std::vector<NicMessage> messages_of_transfer(const NcclNetwork& network,
                                             const TransferCall& call,
                                             std::span<const RankId> members);
// Messages between ranks of different nodes; pairs within a node are left out.
std::vector<NicMessage> messages_of_pairs(const Fabric& fabric,
                                          const std::vector<RankPair>& pairs,
                                          Bytes bytes);

struct PacketRun {
    std::vector<FlowTime> flows;  // by message, from the start to the arrival of the last byte
    Time end;                     // end of the last message
    bool finished = true;
    PacketCounts counts;
    // By link of fabric(): the usable share of the bytes on the wire. Capacities are usable shares,
    // too.
    std::vector<std::int64_t> link_bytes;
    std::vector<std::string> waits;  // connections that did not end, with their place
};

class PacketStudy {
public:
    // The error names an invalid number, link or NIC.
    static Result<PacketStudy> make(const ClusterSpec& cluster, const NetworkSettings& settings);

    // The scenario's fabric, with every cable a link of its own.
    const Fabric& fabric() const { return *fabric_; }
    // All messages start at the same time. With a trace the run is repeated, because the first run
    // shows which parts to draw. `progress` is called with the share of bytes sent.
    Result<PacketRun> run(const std::vector<NicMessage>& messages,
                          NetworkTrace* trace,
                          const std::function<void(double)>& progress = {}) const;

private:
    struct PortChange {
        Time at;
        std::uint32_t port = 0;
        Bandwidth rate;
    };
    struct HostPause {
        Time at;
        std::uint32_t host = 0;
        bool paused = true;
    };
    PacketStudy(Fabric fabric, packet::Topology topology);
    Result<void> take_events(const NetworkSettings& settings);
    // The number of flows of a message.
    std::uint32_t flows_of(const NicMessage& message) const {
        return message.queue_pair ? 1 : queue_pairs_;
    }
    Result<packet::Simulation> simulation(const std::vector<NicMessage>& messages) const;
    std::vector<std::uint32_t> path_of(const NicMessage& message,
                                       std::uint32_t queue_pair,
                                       std::vector<std::uint32_t>& load) const;
    Time unloaded(const NicMessage& message) const;
    PacketRun results(const packet::Simulation& simulation,
                      const std::vector<NicMessage>& messages) const;
    Result<void> draw(const std::vector<NicMessage>& messages,
                      const packet::Simulation& done,
                      NetworkTrace& trace) const;

    std::unique_ptr<Fabric> fabric_;
    packet::Topology topology_;
    packet::PacketParameters parameters_;
    std::uint32_t queue_pairs_ = 1;  // number of flows of a message; each has a path of its own
    std::vector<PortChange> changes_;
    std::vector<HostPause> pauses_;
    std::vector<std::uint32_t> link_of_port_;
};

}  // namespace orrery
