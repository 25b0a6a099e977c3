// SPDX-License-Identifier: Apache-2.0
// The information that a congestion controller receives about its flow's packets and its path.
// Every controller offers window() and rate(), and reacts to on_ack(), on_nack(), on_timeout() and,
// at the time of next_timer(), to on_timer().
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "engine/base/units.h"

namespace orrery {

// The stamp that one switch port writes into a departing packet (in-band telemetry).
struct TelemetryStamp {
    std::int64_t time = 0;    // picoseconds
    std::int64_t sent = 0;    // bytes that the port has sent so far, including this packet
    std::int64_t rate = 0;    // of the link, bit/s
    std::uint32_t queue = 0;  // bytes remaining in the port's queue
    std::uint32_t port = 0;
};
inline constexpr std::size_t kStampsMax = 5;  // switches between two hosts of three tiers

struct PathInfo {
    Bandwidth line_rate;  // of the host
    Time base_rtt;        // of the empty network between its farthest hosts
    std::uint32_t packet_bytes = 0;
    std::uint32_t header_bytes = 0;
    bool trimming = false;

    std::int64_t bdp() const {  // bytes, rounded down
        const auto bits =
            static_cast<__int128>(base_rtt.picoseconds()) * line_rate.bits_per_second();
        return static_cast<std::int64_t>(bits / 8 / 1'000'000'000'000);
    }
};

struct AckSample {
    Time now;
    Time rtt;                        // zero: unknown (a repeated packet)
    std::int64_t bytes = 0;          // newly arrived, including headers
    std::int64_t in_flight = 0;      // after this ACK
    std::uint32_t acknowledged = 0;  // packets that arrived without a gap
    std::uint32_t sent = 0;          // packets sent so far
    std::uint32_t answered = 0;      // the packet that this ACK answers
    std::uint32_t hops = 0;          // switches on that packet's path
    bool marked = false;             // that packet was marked (ECN)
    bool notified = false;           // the ACK carries a congestion notification (CNP)
    std::span<const TelemetryStamp> stamps{};
};

struct NackSample {
    Time now;
    Time rtt;
    std::int64_t bytes = 0;      // of the trimmed packet
    std::int64_t in_flight = 0;  // before the packet is subtracted
    bool last_hop = false;       // it was trimmed at the receiver's port
};

// The value for no pacing, or for no window.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

}  // namespace orrery
