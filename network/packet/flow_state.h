// SPDX-License-Identifier: Apache-2.0
// A flow's state at both its ends.
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
    std::uint32_t next_new = 0;  // packets sent at least once, or the place of go-back-N
    std::uint32_t highest_sent = 0;
    std::uint32_t acknowledged = 0;  // without a gap
    std::uint32_t num_lost = 0;      // waiting to be sent again
    std::uint32_t lost_from = 0;     // none before this one
    std::uint32_t loss_scanned = 0;  // everything before was looked at for gaps
    std::int64_t in_flight = 0;      // bytes
    std::int64_t received_seen = 0;  // by the receiver, as the ACKs say
    std::int64_t window = 0;         // as the controller said last
    std::int64_t rate = kUnlimited;
    std::int64_t next_send = 0;  // not before, if paced
    std::int64_t last_send = 0;
    std::int64_t last_progress = 0;
    std::int64_t credit = 0;
    std::int64_t granted = 0;     // credit received in all
    std::int64_t last_heard = 0;  // of the receiver, when there was no progress
    std::int64_t last_request = -1'000'000'000'000;
    std::int64_t backlog = 0;  // bytes never sent, headers included
    std::int64_t lost_bytes = 0;
    std::int64_t pace_timer = -1;        // pending pacing event, its time
    std::int64_t controller_timer = -1;  // pending controller event, its time
    std::uint32_t next_active = kNone;   // of the flows that wait for this NIC
    std::uint32_t retries = 0;           // timeouts in a row
    bool on_nic = false;
    bool speculating = true;  // credits: not heard of the receiver yet
    bool retransmit_timer = false;
    SenderWindow packets;
};

struct ReceiverState {
    std::uint32_t expected = 0;
    std::uint32_t out_of_order = 0;
    std::uint32_t highest = 0;     // seen, first copies only
    std::uint32_t nacked = kNone;  // go-back-N: the packet last asked for
    std::int64_t nacked_at = 0;
    std::int64_t received = 0;  // bytes with headers
    std::int64_t since_ack = 0;
    std::int64_t last_notified = -1;
    std::int64_t granted = 0;
    std::int64_t wanted = 0;
    bool ack_wanted = false;
    bool in_credit_queue = false;
    ReceiverWindow packets;
};

// What switches read of it comes first, in one cache line.
struct alignas(64) Flow {
    std::uint32_t source;
    std::uint32_t destination;
    std::uint32_t num_packets;
    std::uint32_t last_bytes;    // of the last packet
    std::uint32_t hash;          // its number and label, mixed
    std::uint32_t path = kNone;  // first of its ports in the engine's table
    std::uint32_t path_length = 0;
    FlowState state = FlowState::waiting;
    std::int64_t payload;  // bytes in all
    SenderState sender;
    ReceiverState receiver;
    PathSelector selector;
    Controller controller;
    FlowResult result;
};

}  // namespace orrery::packet
