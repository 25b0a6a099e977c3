// SPDX-License-Identifier: Apache-2.0
// HPCC (Li et al., SIGCOMM 2019): every switch stamps its queue, its sent bytes and its rate into
// the packet. The sender sets its rate so that the fullest link of the path has utilisation eta.
// The values are those of the authors' simulator (run.py, config.txt), except for the publication's
// W_AI.
#pragma once

#include <array>

#include "network/congestion/sample.h"

namespace orrery {

struct HpccParameters {
    double eta = 0.95;
    std::uint32_t stages_max = 0;  // additive steps between multiplicative ones
    // W_AI as a fraction of the line rate: (1 - eta) / N for N flows on a link (section 3.3), here
    // with N = 100. That is the 80 B of the publication's 100 Gb/s. The simulator's run.py has
    // 0.0004.
    double increase_per_line = 0.05 / 100;
    Bandwidth rate_min = Bandwidth::bits_per_second(100'000'000);
};

class Hpcc {
public:
    Hpcc(const HpccParameters& parameters, const PathInfo& path);

    void on_ack(const AckSample& ack);
    void on_nack(const NackSample&) {}
    void on_timeout(Time, std::int64_t) {}
    void on_timer(Time) {}
    Time next_timer() const { return Time::max(); }
    std::int64_t window() const;
    std::int64_t rate() const { return static_cast<std::int64_t>(rate_); }
    double utilisation() const { return utilisation_; }

private:
    void measure(std::span<const TelemetryStamp> stamps);
    void keep(std::span<const TelemetryStamp> stamps);

    const HpccParameters* parameters_;
    double line_;  // bit/s
    double rate_;
    double reference_rate_;
    double utilisation_ = 0;
    std::int64_t base_rtt_;
    std::int64_t bdp_;
    std::int64_t packet_;
    std::uint32_t stage_ = 0;
    std::uint32_t commit_after_ = 0;  // packet number
    bool started_ = false;
    std::uint8_t num_stamps_ = 0;
    std::array<TelemetryStamp, kStampsMax> last_{};
};

}  // namespace orrery
