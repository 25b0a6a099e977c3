// SPDX-License-Identifier: Apache-2.0
// The packet model: flows between hosts of a Topology, packet by packet through switch queues, ECN,
// PFC, trimming, congestion control and loss recovery. Deterministic: same input, same seed, same
// picosecond. Usage: create(), add_flow() …, run(); or run_until() between additions, when later
// flows depend on earlier ones.
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
    Bytes bytes;  // of payload
    Time start;
    // Ports from source to destination that every packet takes, as routing chose them; ACKs take
    // them backwards. Empty: switches hash flow and entropy.
    std::vector<std::uint32_t> path{};
    std::uint32_t label = 0;  // hashed with the flow's number
};

enum class FlowState : std::uint8_t { waiting, running, finished, failed };

struct FlowResult {
    FlowState state = FlowState::waiting;
    Time start;
    Time delivered;                   // the last byte arrived
    Time end;                         // the sender saw the last ACK, or gave up
    std::int64_t bytes_received = 0;  // of payload, each once
    std::int64_t packets_sent = 0;    // repeated ones included
    std::int64_t packets_repeated = 0;
    std::int64_t marked_acks = 0;
    std::int64_t nacks = 0;  // trimmed packets, or go-back-N's
    std::int64_t timeouts = 0;
};

struct PortStatistics {
    std::int64_t bytes = 0;
    std::int64_t packets = 0;
    std::int64_t marked = 0;
    std::int64_t trimmed = 0;
    std::int64_t dropped = 0;  // no room
    std::int64_t lost = 0;     // the link was dead
    std::int64_t pauses = 0;   // PFC: this port was told to stop
    Time paused;
    std::int64_t queue_max = 0;  // bytes of data waiting or being sent
    double queue_mean = 0;       // over time, from the first flow's start
    double utilisation = 0;      // of the present rate
};

struct Totals {
    std::uint64_t events = 0;
    std::int64_t data_packets = 0;  // sent, repeated ones included
    std::int64_t acks = 0;          // and NACKs and credits
    std::int64_t marked = 0;
    std::int64_t trimmed = 0;
    std::int64_t dropped = 0;
    std::int64_t lost = 0;
    std::int64_t repeated = 0;
    std::int64_t timeouts = 0;
    std::int64_t pauses = 0;
    std::int64_t out_of_path_order = 0;  // overtook one of their flow, though it has one path
    std::uint64_t packets_live = 0;      // in queues and on wires now
    bool operator==(const Totals&) const = default;
};

class PacketEngine;

class Simulation {
public:
    // The error says which parameter cannot be.
    static Result<Simulation> create(const Topology& topology, const PacketParameters& parameters);
    Simulation(Simulation&&) noexcept;
    Simulation& operator=(Simulation&&) noexcept;
    ~Simulation();

    // Its number, from 0. The error says what cannot be: hosts, path, a start in the past.
    Result<std::uint32_t> add_flow(const FlowSpec& flow);
    // From `at` on. Zero kills the link: packets queued for it are lost, packets on the wire
    // arrive.
    void set_rate(Time at, std::uint32_t port, Bandwidth rate);
    // A receiver that pauses its switch (PFC), for good or until it is called with `paused` false.
    void set_host_paused(Time at, std::uint32_t host, bool paused);

    // Until no flow is left that can go on. `progress` hears now and then, after some seconds at
    // most, how many bytes have been received.
    void run(const std::function<void(std::int64_t)>& progress = {});
    // Until a flow has ended or the clock stands at `limit`. True: `ended` names the ended flows.
    bool run_until(Time limit, std::vector<std::uint32_t>& ended);

    Time now() const;
    std::uint32_t num_flows() const;
    std::uint32_t num_unfinished() const;
    FlowResult flow(std::uint32_t id) const;
    PortStatistics port(std::uint32_t id) const;
    Totals totals() const;
    // Queue of data at a port now, and a flow's window and rate now (kUnlimited: none).
    std::int64_t queue_bytes(std::uint32_t port) const;
    std::int64_t window(std::uint32_t flow) const;
    std::int64_t rate(std::uint32_t flow) const;
    // One sentence on each flow that failed or waits, with the port that it waits for.
    std::vector<std::string> waits() const;
    const PacketParameters& parameters() const;  // with everything derived

private:
    explicit Simulation(std::unique_ptr<PacketEngine> engine);
    std::unique_ptr<PacketEngine> engine_;
};

}  // namespace orrery::packet
