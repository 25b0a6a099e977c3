// SPDX-License-Identifier: Apache-2.0
// SharedRates whose transfers between servers are packets during a window of time. In the window
// each connection is a flow of its own through the packet model's queues. Outside the window, and
// inside servers, transfers share links as in network/fluid/fluid.h. A coupled transfer ends with
// the last ACK of its last connection and with its fluid part, whose path takes the latency of a
// single packet. Connections start anew for every transfer, at line rate and without the state of
// their congestion control. Only for networks made by PacketNetwork.
#pragma once

#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "network/fluid/fluid.h"
#include "network/packet_network.h"

namespace orrery {

struct PacketWindow {
    Time begin;
    Time end = Time::max();
};

// A transfer between servers.
struct StartedTransfer {
    FootprintId way{};
    Time at;
    Time end = Time::max();    // max: has not ended
    std::int64_t packets = 0;  // packets that it needs
};

// The statistics of the packets in a window.
struct PacketUse {
    packet::Totals totals{};
    std::int64_t failed = 0;  // flows that failed
    Bytes queue_max;
    std::string queue_at;
    Time paused_max;  // of one port
};

class PacketRates final : public SharedRates {
public:
    // Without a window all transfers are fluid.
    PacketRates(const PacketNetwork& network, std::optional<PacketWindow> window);

    FootprintId add_footprint(std::span<const LinkShare> footprint) override;
    FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) override;
    // Starts a transfer inside a server.
    FlowId start_under_way(
        Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) override;
    void settle(Time now) override { fluid_.settle(now); }
    Time run_until(Time limit) override;
    Time next_completion() const override;
    void pop_completed(Time now, std::vector<FlowId>& ended) override;
    // Not for a flow that moves as packets.
    Bytes stop(Time now, FlowId flow) override;
    void set_capacity(Time now, LinkId link, Bandwidth capacity) override;
    // The rate of a flow's fluid part.
    Bandwidth rate(FlowId flow) const override;
    std::int64_t num_solves() const override { return fluid_.num_solves(); }
    std::int64_t num_flows_started() const override { return num_started_; }

    const std::vector<StartedTransfer>& started() const { return started_; }
    PacketUse use() const;

private:
    struct Way {
        std::vector<LinkShare> connections;
        FootprintId whole{};
        FootprintId local{};  // without the links that carry packets
        Time overhead;
    };
    struct Transfer {
        FootprintId way{};
        Bytes bytes;  // when it became fluid or packets
        Bandwidth rate_max;
        FlowId fluid{};
        bool in_flight = false;
        bool fluid_flows = false;         // its fluid part has not left the sender
        std::uint32_t arriving = 0;       // fluid parts that have left and not arrived
        std::uint32_t number = 0;         // index in started_, if between servers
        std::vector<std::uint32_t> sent;  // packet flows
        std::uint32_t num_sent = 0;       // unfinished ones of them
    };
    using Arrival = std::pair<Time, std::uint32_t>;

    bool in_window(Time now) const { return now >= window_.begin && now < window_.end; }
    std::uint32_t take_id();
    void start_fluid(Time now, std::uint32_t id, FootprintId footprint);
    void start_packets(Time now, std::uint32_t id);
    void note_start(Time now, Transfer& transfer);
    void take_fluid_ends(Time now);
    void enter_window(Time now);
    void leave_window(Time now);
    Bytes left_of(Time now, Transfer& transfer);
    bool over(const Transfer& t) const {
        return t.in_flight && !t.fluid_flows && t.arriving == 0 && t.num_sent == 0;
    }
    Time next_boundary() const;

    const PacketNetwork& network_;
    PacketWindow window_;
    bool entered_ = false;
    bool left_ = false;
    FluidRates fluid_;
    std::optional<packet::Simulation> simulation_;
    std::vector<Way> ways_;
    std::vector<Transfer> transfers_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> owner_of_fluid_;    // by FlowId of the fluid model
    std::vector<std::uint32_t> owner_of_packets_;  // by flow of the simulation
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
    std::vector<std::uint32_t> over_;  // transfers that ended at packet_now_
    Time packet_now_;
    std::vector<std::uint32_t> ended_;  // scratch
    std::vector<FlowId> fluid_ended_;   // scratch
    PacketUse use_;
    std::vector<StartedTransfer> started_;
    std::int64_t num_started_ = 0;
};

}  // namespace orrery
