// SPDX-License-Identifier: Apache-2.0
// The implementation of Simulation: one event loop over switch ports, NICs and the two ends of each
// flow. A hop is one event if its port is idle, the packet's arrival at the next node, and two if
// the packet must wait (also the port's release). Marks are written at the release, after the
// packet has left; telemetry is written when it is emitted.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "network/packet/event_wheel.h"
#include "network/packet/flow_state.h"
#include "network/packet/packet.h"
#include "network/packet/simulation.h"
#include "network/packet/topology.h"

namespace orrery::packet {

enum class Action : std::uint32_t {
    arrive,            // target: packet
    release,           // port
    flow_start,        // flow
    pace,              // flow
    controller_timer,  // flow
    retransmit_timer,  // flow
    give_credit,       // host
    pause,             // port
    resume,            // port
    change_rate,       // index of a RateChange
    know_change,       // the same, at the time when switches learn of it
};

// Priority classes of a port's queue.
enum : std::uint8_t { kControlClass = 0, kDataClass = 1 };

struct alignas(64) Port {
    std::int64_t busy_until = 0;
    std::uint64_t byte_time = 0;  // picoseconds << kByteTimeShift
    std::int64_t latency = 0;
    std::uint32_t head[2] = {kNone, kNone};
    std::uint32_t tail[2] = {kNone, kNone};
    std::uint32_t queued[2] = {0, 0};  // bytes waiting
    std::uint32_t to = 0;
    std::uint32_t in_service = kNone;
    std::uint32_t in_service_data = 0;  // bytes of its data packet, or 0
    bool release_pending = false;
    bool paused = false;
    bool dead = false;
    bool known_dead = false;  // dead, as known to the switches

    // The second cache line: thresholds and counts.
    std::uint32_t queue_limit = 0;  // of data; 0: none
    std::uint32_t kmin = 0;
    std::uint32_t kmax = 0;
    std::uint32_t queue_max = 0;
    std::int64_t bytes = 0;
    std::int64_t packets = 0;
    std::uint32_t marked = 0;
    std::uint32_t trimmed = 0;
    std::uint32_t dropped = 0;
    std::uint32_t lost = 0;
    std::uint32_t pauses = 0;
    std::uint32_t num_draws = 0;
    std::int64_t paused_since = 0;
    std::int64_t paused_time = 0;
    // Integral of queued data bytes over time, for the mean.
    std::int64_t queue_since = 0;
    double queue_area = 0;
};

constexpr int kByteTimeShift = 20;

// PFC: the buffered data of a switch that entered by one port.
struct Ingress {
    std::uint32_t bytes = 0;
    std::uint32_t shared = 0;
    std::uint32_t headroom = 0;
    std::uint32_t headroom_max = 0;
    bool paused = false;  // this switch has told the other end to stop
};

struct SwitchState {
    std::uint32_t salt = 0;
    std::int64_t shared = 0;  // used bytes of the shared buffer
    std::int64_t shared_max = 0;
};

struct Nic {
    std::uint32_t first_active = kNone;  // list of flows with data to send, in turn
    std::uint32_t last_active = kNone;
    std::uint32_t control_turn = 0;
    std::int64_t credit_at = 0;  // time at which the credit pacer is free
    bool credit_pending = false;
    std::deque<std::uint32_t> wanting_credit;
};

class PacketEngine {
public:
    PacketEngine(const Topology& topology, const PacketParameters& parameters);

    std::uint32_t add_flow(const FlowSpec& spec);
    void set_rate(std::int64_t at, std::uint32_t port, Bandwidth rate);
    void set_host_paused(std::int64_t at, std::uint32_t host, bool paused);
    void run_until(std::int64_t limit, std::vector<std::uint32_t>* ended);
    // The same with a limit on events instead of time. False: nothing is left that can continue.
    bool run_events(std::uint64_t most);

    std::int64_t now() const { return now_; }
    const std::vector<Flow>& flows() const { return flows_; }
    const Topology& topology() const { return topology_; }
    const PacketParameters& parameters() const { return parameters_; }
    std::uint32_t num_unfinished() const { return num_unfinished_; }
    Totals totals() const;
    PortStatistics statistics(std::uint32_t port) const;
    std::int64_t queue_bytes(std::uint32_t port) const;
    std::string wait_of(std::uint32_t flow) const;

private:
    friend class EngineProbe;  // for tests of the internals

    void handle(const WheelEvent& event);
    void prefetch(const WheelEvent& event);
    void schedule(std::int64_t time, std::uint32_t target, Action action) {
        events_.schedule(time, target, static_cast<std::uint32_t>(action));
    }

    // switching.cpp: ports, queues, marks, trimming.
    void arrive(std::uint32_t id);
    std::uint32_t egress_of(const Packet& packet, std::uint32_t node) const;
    std::uint32_t live_egress(const Packet& packet, std::uint32_t node, std::uint32_t hash) const;
    bool reaches(std::uint32_t port, std::uint32_t destination) const;
    void enqueue(std::uint32_t port_id, std::uint32_t id);
    void append(std::uint32_t port_id, std::uint32_t id, std::uint8_t queue_class);
    bool make_room(std::uint32_t port_id, std::uint32_t& id);
    void trim(std::uint32_t port_id, std::uint32_t id);
    void drop(std::uint32_t port_id, std::uint32_t id);
    std::uint32_t take_head(Port& port, std::uint8_t queue_class);
    void transmit(std::uint32_t port_id, std::uint32_t id);
    void release(std::uint32_t port_id);
    void finish_service(std::uint32_t port_id);
    void serve(std::uint32_t port_id);
    void need_release(std::uint32_t port_id);
    bool wants_mark(std::uint32_t port_id);
    void stamp(std::uint32_t port_id, std::uint32_t id);
    void note_queue(Port& port);
    bool is_idle(const Port& port) const {
        return !port.release_pending && port.busy_until <= now_;
    }

    // flow_control.cpp: PFC, and links that change.
    bool admit(const Packet& packet);
    void release_buffer(std::uint32_t ingress, std::uint32_t bytes);
    void check_pause(std::uint32_t ingress);
    void set_paused(std::uint32_t port, bool paused);
    std::int64_t pause_threshold(std::uint32_t ingress) const;
    void apply_rate(std::uint32_t port, Bandwidth rate);
    void change_rate(std::uint32_t change);
    void init_flow_control();
    void know_change(std::uint32_t change);

    // nic.cpp: the next packet of a host.
    void kick(std::uint32_t host);
    void serve_host(std::uint32_t host);
    bool send_next_data(std::uint32_t host);
    void make_ready(std::uint32_t flow);
    bool can_send(const Flow& flow) const;
    std::uint32_t next_bytes(const Flow& flow) const;
    void send_control(std::uint32_t host, std::uint32_t id);
    void emit_data(std::uint32_t flow, std::uint32_t host);
    void pace(std::uint32_t flow);

    // sender.cpp: ACKs, losses, timers.
    void start_flow(std::uint32_t flow);
    void on_ack(std::uint32_t id);
    void on_nack(std::uint32_t id);
    void take_cumulative(Flow& flow, std::uint32_t cumulative);
    void take_selective(Flow& flow, const Packet& ack);
    void note_arrived(Flow& flow, std::uint32_t sequence);
    void find_gaps(Flow& flow, std::uint32_t highest);
    void declare_lost(Flow& flow, std::uint32_t sequence);
    void go_back(Flow& flow, std::uint32_t sequence);
    void retransmit_timer(std::uint32_t flow);
    void arm_retransmit_timer(std::uint32_t flow, std::int64_t at);
    bool lose_expired(std::uint32_t flow);
    void controller_changed(std::uint32_t flow);
    void controller_timer(std::uint32_t flow);
    void end_flow(std::uint32_t flow, FlowState state);
    std::int64_t packet_bytes(const Flow& flow, std::uint32_t sequence) const {
        return sequence + 1 == flow.num_packets ? flow.last_bytes : parameters_.packet_bytes;
    }

    // receiver.cpp.
    void on_data(std::uint32_t id);
    void on_trimmed(const Packet& packet);
    void on_data_in_order(std::uint32_t id);
    void on_data_any_order(std::uint32_t id);
    bool accept(Flow& flow, const Packet& packet);
    void send_ack(const Packet& data, std::uint32_t data_id, bool marked);
    void send_nack(const Packet& data, std::uint32_t sequence);

    // credits.cpp.
    void want_credit(std::uint32_t flow, std::int64_t wanted);
    void give_credit(std::uint32_t host);
    void on_credit(const Packet& packet);
    void request_credit(std::uint32_t flow);
    void request_if_stuck(std::uint32_t flow);
    void stop_speculating(Flow& flow);
    std::int64_t wanted_credit(const Flow& flow) const;

    Topology topology_;
    PacketParameters parameters_;
    std::int64_t now_ = 0;
    EventWheel events_;
    PacketPool packets_;
    std::vector<Port> ports_;
    std::vector<std::array<TelemetryStamp, kStampsMax>>
        stamps_;                    // by packet, if a controller reads them
    std::vector<Ingress> ingress_;  // by port, if PFC is on
    std::vector<SwitchState> switches_;
    std::vector<Nic> nics_;
    std::vector<Flow> flows_;
    std::vector<std::uint32_t> paths_;
    struct RateChange {
        std::uint32_t port;
        Bandwidth rate;
    };
    std::vector<RateChange> changes_;
    std::uint32_t num_known_dead_ = 0;
    std::uint32_t num_unfinished_ = 0;
    std::uint64_t events_most_ = std::numeric_limits<std::uint64_t>::max();
    std::vector<std::uint32_t>* ended_ = nullptr;
    bool has_pfc_ = false;
    bool stamps_on_ = false;
    bool selective_ = true;
    bool credits_ = false;
    bool find_gaps_ = false;
    std::uint32_t gap_packets_ = 3;
    std::uint64_t mark_key_ = 0;
    std::uint64_t trim_key_ = 0;
    std::int64_t first_start_ = -1;
    Totals totals_{};
    PathInfo path_info_;
};

}  // namespace orrery::packet
