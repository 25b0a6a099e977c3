// SPDX-License-Identifier: Apache-2.0
// Runs messages between NICs on the packet model, while links and NICs do what network.events say.
// Where the fabric sprays, its packets do; else every message takes the path that the fabric's
// routing gives it, or, if links change, the one that the switches hash it to. Inside servers
// nothing is a packet: NVLink and PCIe cost no time here.
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
    std::string name;  // of its track
    // Of a connection's queue pair: its number, and the path on which it was opened. None: the
    // message is split over all queue pairs, each on a path of its own.
    std::optional<std::uint32_t> queue_pair{};
    std::vector<LinkId> links{};
};

// What a transfer sends from NIC to NIC: its bytes on each connection of the plan. The network
// numbers its connections, and its fabric is the one on which the messages run.
std::vector<NicMessage> messages_of_transfer(const NcclNetwork& network,
                                             const TransferCall& call,
                                             std::span<const RankId> members);
// Between ranks of different nodes; within one there is no network.
std::vector<NicMessage> messages_of_pairs(const Fabric& fabric,
                                          const std::vector<RankPair>& pairs,
                                          Bytes bytes);

struct PacketRun {
    std::vector<FlowTime> flows;  // a message each, from the start to its last byte's arrival
    Time end;                     // of the last
    bool finished = true;
    PacketCounts counts;
    // By the links of fabric(); the usable share of what was on the wire, as capacities are.
    std::vector<std::int64_t> link_bytes;
    std::vector<std::string> waits;  // what did not end, and where
};

class PacketStudy {
public:
    // The error says which number, link or NIC cannot be.
    static Result<PacketStudy> make(const ClusterSpec& cluster, const NetworkSettings& settings);

    // The scenario's fabric, with every cable a link of its own.
    const Fabric& fabric() const { return *fabric_; }
    // All messages start at once. With a trace the run is made twice, to know what to look at.
    // `progress` hears the share of the bytes that are on their way, now and then.
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
    // Flows of a message.
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
    std::uint32_t queue_pairs_ =
        1;  // flows a message is split over: those with a path of their own
    std::vector<PortChange> changes_;
    std::vector<HostPause> pauses_;
    std::vector<std::uint32_t> link_of_port_;
};

}  // namespace orrery
