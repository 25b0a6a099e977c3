// SPDX-License-Identifier: Apache-2.0
// The packet model: flows between hosts of a Topology, packet by packet through switch queues, ECN,
// PFC, trimming, congestion control and loss recovery. Deterministic: the same input and seed give
// the same picoseconds. Usage: create(), add_flow() …, run(). If later flows depend on earlier
// ones, call run_until() between additions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "network/packet/parameters.h"
#include "network/packet/topology.h"

namespace orrery::packet {

struct FlowSpec {
    std::uint32_t source = 0;  // hosts
    std::uint32_t destination = 0;
    Bytes bytes;  // payload
    Time start;
    // The ports from source to destination that every packet takes, as chosen by routing; ACKs take
    // them backwards. Empty: switches hash flow and entropy.
    std::vector<std::uint32_t> path{};
    std::uint32_t label = 0;  // hashed together with the flow's number
};

enum class FlowState : std::uint8_t { waiting, running, finished, failed };

struct FlowResult {
    FlowState state = FlowState::waiting;
    Time start;
    Time delivered;                   // arrival of the last byte
    Time end;                         // the sender received the last ACK, or gave up
    std::int64_t bytes_received = 0;  // payload, each byte once
    std::int64_t packets_sent = 0;    // including repeated ones
    std::int64_t packets_repeated = 0;
    std::int64_t marked_acks = 0;
    std::int64_t nacks = 0;  // for trimmed packets, or of go-back-N
    std::int64_t timeouts = 0;
};

struct PortStatistics {
    std::int64_t bytes = 0;
    std::int64_t packets = 0;
    std::int64_t marked = 0;
    std::int64_t trimmed = 0;
    std::int64_t dropped = 0;  // no room in the queue
    std::int64_t lost = 0;     // the link was dead
    std::int64_t pauses = 0;   // PFC: number of times this port was told to stop
    Time paused;
    std::int64_t queue_max = 0;  // bytes of data, waiting or being sent
    double queue_mean = 0;       // time average from the first flow's start
    double utilisation = 0;      // fraction of the present rate
};

struct Totals {
    std::uint64_t events = 0;
    std::int64_t data_packets = 0;  // sent, including repeated ones
    std::int64_t acks = 0;          // including NACKs and credits
    std::int64_t marked = 0;
    std::int64_t trimmed = 0;
    std::int64_t dropped = 0;
    std::int64_t lost = 0;
    std::int64_t repeated = 0;
    std::int64_t timeouts = 0;
    std::int64_t pauses = 0;
    // Packets that overtook others of a flow with a single path
    std::int64_t out_of_path_order = 0;
    std::uint64_t packets_live = 0;  // now in queues and on wires
    bool operator==(const Totals&) const = default;
};

class PacketEngine;

class Simulation {
public:
    // The error names an impossible parameter.
    static Result<Simulation> create(const Topology& topology, const PacketParameters& parameters);
    Simulation(Simulation&&) noexcept;
    Simulation& operator=(Simulation&&) noexcept;
    ~Simulation();

    // Returns the flow's number, from 0. The error names the impossible value: hosts, path, or a
    // start in the past.
    Result<std::uint32_t> add_flow(const FlowSpec& flow);
    // Sets the rate from `at` on. Zero kills the link: packets in its queue are lost, packets on
    // the wire arrive.
    void set_rate(Time at, std::uint32_t port, Bandwidth rate);
    // Makes a receiver pause its switch port (PFC) until a call with `paused` false.
    void set_host_paused(Time at, std::uint32_t host, bool paused);

    // Runs until no flow can continue. `progress` gets the number of received bytes, at least every
    // few seconds.
    void run(const std::function<void(std::int64_t)>& progress = {});
    // Runs until a flow has ended or until `limit`. True: `ended` has the ended flows.
    bool run_until(Time limit, std::vector<std::uint32_t>& ended);

    Time now() const;
    std::uint32_t num_flows() const;
    std::uint32_t num_unfinished() const;
    FlowResult flow(std::uint32_t id) const;
    PortStatistics port(std::uint32_t id) const;
    Totals totals() const;
    // The present data queue of a port, and the present window and rate of a flow (kUnlimited:
    // none).
    std::int64_t queue_bytes(std::uint32_t port) const;
    std::int64_t window(std::uint32_t flow) const;
    std::int64_t rate(std::uint32_t flow) const;
    // One sentence for each flow that failed or waits, with the port at which it waits.
    std::vector<std::string> waits() const;
    const PacketParameters& parameters() const;  // with all derived values

private:
    explicit Simulation(std::unique_ptr<PacketEngine> engine);
    std::unique_ptr<PacketEngine> engine_;
};

}  // namespace orrery::packet
