// SPDX-License-Identifier: Apache-2.0
// Swift (Kumar et al., SIGCOMM 2020): a window in packets with a target delay. Target = base + a
// share per hop + a part that shrinks with the window (flow scaling), so that many flows accept a
// longer queue. Below the target the window increases additively; above it, it decreases
// multiplicatively, at most once per RTT. Below one packet the flow is paced. The values are those
// of csg-htsim (its comments call them guesses), with the base target equal to the base RTT, as in
// the other public ports.
#pragma once

#include "network/congestion/sample.h"

namespace orrery {

struct SwiftParameters {
    Time base_target{};           // 0: the base RTT of the network
    double hop_share = 1 / 6.55;  // fraction of the base target, per switch
    double range = 5.0;           // flow scaling: at most this multiple of the base target …
    double window_low = 0.1;      // … for windows from this number of packets
    double window_high = 100;     // up to this number
    double increase = 1.0;        // ai
    double decrease = 0.8;        // beta
    double decrease_max = 0.5;
    double window_start = 12;    // packets; 0: the BDP, line rate
    double window_min = 0.0024;  // 10 B of a packet of 4,150 B
    double window_max = 1000;
};

class Swift {
public:
    Swift(const SwiftParameters& parameters, const PathInfo& path);

    void on_ack(const AckSample& ack);
    void on_nack(const NackSample& nack);
    void on_timeout(Time now, std::int64_t bytes);
    void on_timer(Time) {}
    Time next_timer() const { return Time::max(); }
    std::int64_t window() const;
    std::int64_t rate() const;  // paced only below one packet

    double window_packets() const { return window_; }
    // The target for a packet over `hops` switches, at the present window.
    double target_ps(std::uint32_t hops) const;
    // A decrease, at most once per RTT.
    void scale_window(Time now, double factor);
    void note_rtt(Time rtt) { rtt_ = static_cast<double>(rtt.picoseconds()); }

private:
    const SwiftParameters* parameters_;
    double base_;  // picoseconds
    double scaling_;
    double offset_;
    double window_;
    double rtt_;
    std::int64_t packet_;
    Time last_decrease_;
};

}  // namespace orrery
