// SPDX-License-Identifier: Apache-2.0
// DCQCN (Zhu et al., SIGCOMM 2015): a sender's rate as a function of its receiver's congestion
// notifications (CNPs). The defaults are the "Mellanox-like" set of the HPCC authors' simulator
// (run.py), in which the mark returns with each ACK, and the decrease period replaces the CNP
// interval. paper() is the set of the publication. Rates of increase scale with the line rate.
#pragma once

#include "network/congestion/sample.h"

namespace orrery {

struct DcqcnParameters {
    double gain = 1.0 / 256;  // g
    Time alpha_period = Time::picoseconds(1'000'000);
    Time decrease_period = Time::picoseconds(4'000'000);
    Time increase_period = Time::picoseconds(300'000'000);
    std::uint32_t fast_recovery_stages = 1;  // F
    std::int64_t byte_counter = 0;           // bytes; 0: none
    double additive_per_line = 5e6 / 25e9;   // Rai as a share of the line rate
    double hyper_per_line = 50e6 / 25e9;     // Rhai
    Bandwidth rate_min = Bandwidth::bits_per_second(100'000'000);
    bool clamp_target = false;  // a decrease in the first stage also lowers the target
    Time cnp_interval{};  // of a receiver, per flow; 0: the ACK of each marked packet notifies

    static DcqcnParameters paper();  // periods 50, 50, 55 us, F 5, 10 MB, CNPs at least 50 us apart
};

class Dcqcn {
public:
    Dcqcn(const DcqcnParameters& parameters, const PathInfo& path);

    void on_ack(const AckSample& ack);
    void on_nack(const NackSample&) {}
    void on_timeout(Time, std::int64_t) {}
    void on_timer(Time now);
    Time next_timer() const;
    std::int64_t window() const { return kUnlimited; }
    std::int64_t rate() const { return static_cast<std::int64_t>(rate_); }
    double target() const { return target_; }
    double alpha() const { return alpha_; }

private:
    void roll_alpha(Time now);
    void decrease(Time now);
    void increase();

    const DcqcnParameters* parameters_;
    double line_;  // bit/s
    double rate_;
    double target_;
    double alpha_ = 1;
    Time alpha_since_;
    Time decrease_at_ = Time::max();  // end of the decrease period with a CNP in it
    Time decrease_start_;
    Time increase_at_ = Time::max();
    std::int64_t bytes_ = 0;
    std::uint32_t timer_stage_ = 0;
    std::uint32_t byte_stage_ = 0;
    bool notified_ = false;  // has ever been notified
    bool cnp_in_alpha_period_ = false;
};

}  // namespace orrery
