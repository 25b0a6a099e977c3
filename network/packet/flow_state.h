// SPDX-License-Identifier: Apache-2.0
// The state of a flow at both ends.
#pragma once

#include <cstdint>
#include <variant>

#include "network/congestion/dcqcn.h"
#include "network/congestion/dctcp.h"
#include "network/congestion/hpcc.h"
#include "network/congestion/megascale.h"
#include "network/congestion/nscc.h"
#include "network/congestion/swift.h"
#include "network/packet/path_selector.h"
#include "network/packet/sender_window.h"
#include "network/packet/simulation.h"

namespace orrery::packet {

// A fixed window (0: none), or the receiver's credits.
class FixedWindow {
public:
    explicit FixedWindow(std::int64_t window) : window_(window) {}
    void on_ack(const AckSample&) {}
    void on_nack(const NackSample&) {}
    void on_timeout(Time, std::int64_t) {}
    void on_timer(Time) {}
    Time next_timer() const { return Time::max(); }
    std::int64_t window() const { return window_; }
    std::int64_t rate() const { return kUnlimited; }

private:
    std::int64_t window_;
};

using Controller = std::variant<FixedWindow, Nscc, UecDctcp, Dcqcn, Dctcp, Swift, Hpcc, MegaScale>;

struct SenderState {
    // Packets sent at least once; with go-back-N the next packet to send
    std::uint32_t next_new = 0;
    std::uint32_t highest_sent = 0;
    std::uint32_t acknowledged = 0;  // packets acknowledged without a gap
    std::uint32_t num_lost = 0;      // lost packets to be sent again
    std::uint32_t lost_from = 0;     // no packet before this one is lost
    std::uint32_t loss_scanned = 0;  // all packets before this one were checked for gaps
    std::int64_t in_flight = 0;      // bytes
    std::int64_t received_seen = 0;  // bytes received, according to the ACKs
    std::int64_t window = 0;         // the controller's last value
    std::int64_t rate = kUnlimited;
    std::int64_t next_send = 0;  // with pacing: earliest time of the next packet
    std::int64_t last_send = 0;
    std::int64_t last_progress = 0;
    std::int64_t credit = 0;
    std::int64_t granted = 0;     // total credit received
    std::int64_t last_heard = 0;  // last message of the receiver without progress
    std::int64_t last_request = -1'000'000'000'000;
    std::int64_t backlog = 0;  // bytes never sent, including headers
    std::int64_t lost_bytes = 0;
    std::int64_t pace_timer = -1;        // time of the pending pacing event; -1: none
    std::int64_t controller_timer = -1;  // time of the pending controller event; -1: none
    std::uint32_t next_active = kNone;   // next flow that waits for this NIC
    std::uint32_t retries = 0;           // consecutive timeouts
    bool on_nic = false;
    bool speculating = true;  // with credits: no message of the receiver yet
    bool retransmit_timer = false;
    SenderWindow packets;
};

struct ReceiverState {
    std::uint32_t expected = 0;
    std::uint32_t out_of_order = 0;
    std::uint32_t highest = 0;     // of first copies
    std::uint32_t nacked = kNone;  // go-back-N: the last requested packet
    std::int64_t nacked_at = 0;
    std::int64_t received = 0;  // bytes, including headers
    std::int64_t since_ack = 0;
    std::int64_t last_notified = -1;
    std::int64_t granted = 0;
    std::int64_t wanted = 0;
    bool ack_wanted = false;
    bool in_credit_queue = false;
    ReceiverWindow packets;
};

// The members that switches read are first, on one cache line.
struct alignas(64) Flow {
    std::uint32_t source;
    std::uint32_t destination;
    std::uint32_t num_packets;
    std::uint32_t last_bytes;    // of the last packet
    std::uint32_t hash;          // of its number and label
    std::uint32_t path = kNone;  // index of its first port in the engine's table
    std::uint32_t path_length = 0;
    FlowState state = FlowState::waiting;
    std::int64_t payload;  // total bytes
    SenderState sender;
    ReceiverState receiver;
    PathSelector selector;
    Controller controller;
    FlowResult result;
};

}  // namespace orrery::packet
