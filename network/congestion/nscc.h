// SPDX-License-Identifier: Apache-2.0
// NSCC, the sender's window of Ultra Ethernet. The delay shows how full the path is; the mark shows
// whether this path in particular is congested. There are four cases (delay below or above target,
// marked or not), and a quick adaptation to the delivered bytes after losses. Behaviour and values:
// ultraethernet/uet-htsim 40ccb05 (BSD-2), uec.cpp.
#pragma once

#include "network/congestion/sample.h"

namespace orrery {

struct NsccParameters {
    double target_share = 0;    // target queueing delay / base RTT; 0: 0.75 if trimming, else 1
    double proportional = 4.0;  // packets per BDP-scaled RTT at zero delay
    double fair = 5.0;
    double additive = 0.15;  // packets per base RTT
    double fast = 0.25;      // fraction of acknowledged bytes while the path is empty
    Time fast_delay = Time::picoseconds(1'000'000);
    double decrease = 0.8;  // gain of the multiplicative decrease
    double decrease_max = 0.5;
    double delay_gain = 0.0125;  // of the average delay
    double quick_delay = 4.0;    // quick adaptation above this multiple of the target delay …
    // … or after a loss, if less than 2^-3 of the window was delivered
    std::uint32_t quick_gate = 3;
    bool quick_adapt = true;
    double window_max = 1.5;  // BDP
    std::uint32_t adjust_packets = 8;
    double reference_bdp = 150'000;  // of 100 Gb/s and 12 us
    Time reference_rtt = Time::picoseconds(12'000'000);
};

class Nscc {
public:
    Nscc(const NsccParameters& parameters, const PathInfo& path);

    void on_ack(const AckSample& ack);
    void on_nack(const NackSample& nack);
    void on_timeout(Time now, std::int64_t bytes);
    void on_timer(Time) {}
    Time next_timer() const { return Time::max(); }
    std::int64_t window() const { return window_; }
    std::int64_t rate() const { return kUnlimited; }

    Time base_rtt() const { return Time::picoseconds(base_rtt_); }
    Time average_delay() const { return Time::picoseconds(static_cast<std::int64_t>(average_)); }
    Time target_delay() const { return Time::picoseconds(target_); }

private:
    void note_rtt(std::int64_t rtt);
    void average(std::int64_t delay, bool marked);
    bool quick_adapt(Time now, bool loss, bool marked, std::int64_t delay, std::int64_t in_flight);
    void increase_below_target(std::int64_t bytes, std::int64_t delay);
    bool increase_fast(std::int64_t bytes, std::int64_t delay);
    void decrease(Time now);
    void apply_increase(Time now);
    void clamp();

    const NsccParameters* parameters_;
    std::int64_t line_bps_;
    std::int64_t packet_;
    double mss_;
    double scale_;         // a = BDP / reference BDP
    double proportional_;  // bytes per acknowledged byte and picosecond below target
    std::int64_t target_;
    std::int64_t network_rtt_;
    std::int64_t base_rtt_;
    std::int64_t window_max_;
    std::int64_t window_;
    double average_ = 0;
    double increase_ = 0;  // bytes^2 collected since the last adjustment
    std::int64_t received_ = 0;
    std::int64_t achieved_ = 0;
    std::int64_t ignored_ = 0;
    std::int64_t to_ignore_ = 0;
    std::int64_t empty_bytes_ = 0;  // acknowledged in a row while the path was empty
    Time quick_end_;
    Time last_decrease_;
    Time last_adjust_;
    bool fast_ = false;
    bool lost_ = false;
};

}  // namespace orrery
