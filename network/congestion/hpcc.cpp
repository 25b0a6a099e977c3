// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/hpcc.h"

#include <algorithm>

namespace orrery {

Hpcc::Hpcc(const HpccParameters& parameters, const PathInfo& path)
    : parameters_(&parameters),
      line_(static_cast<double>(path.line_rate.bits_per_second())),
      rate_(line_),
      reference_rate_(line_),
      base_rtt_(path.base_rtt.picoseconds()),
      bdp_(path.bdp()),
      packet_(path.packet_bytes) {}

// A packet may be sent while less than the scaled BDP is in flight: one more than fits.
std::int64_t Hpcc::window() const {
    const double scaled = static_cast<double>(bdp_) * rate_ / line_;
    return static_cast<std::int64_t>(scaled) + packet_ - 1;
}

void Hpcc::keep(std::span<const TelemetryStamp> stamps) {
    num_stamps_ = static_cast<std::uint8_t>(std::min(stamps.size(), kStampsMax));
    std::copy_n(stamps.begin(), num_stamps_, last_.begin());
}

// u = txRate/B + min(q, q_previous) / (B T) of the fullest hop, averaged over one base RTT.
void Hpcc::measure(std::span<const TelemetryStamp> stamps) {
    double fullest = 0;
    std::int64_t span = 0;
    for (std::size_t i = 0; i < stamps.size(); ++i) {
        const TelemetryStamp& now = stamps[i];
        const TelemetryStamp& before = last_[i];
        const std::int64_t elapsed = now.time - before.time;
        if (elapsed <= 0) {
            continue;
        }
        const auto capacity = static_cast<double>(now.rate);
        const double bits = static_cast<double>(now.sent - before.sent) * 8;
        const auto queue = static_cast<double>(std::min(now.queue, before.queue));
        const double u = bits * 1e12 / static_cast<double>(elapsed) / capacity +
                         queue * line_ / (capacity * static_cast<double>(bdp_));
        if (u > fullest) {
            fullest = u;
            span = elapsed;
        }
    }
    const auto rtt = static_cast<double>(base_rtt_);
    const double weight = static_cast<double>(std::min(span, base_rtt_)) / rtt;
    utilisation_ = utilisation_ * (1 - weight) + fullest * weight;
}

void Hpcc::on_ack(const AckSample& ack) {
    if (ack.stamps.empty()) {
        return;  // the path has no switch
    }
    bool same_path = ack.stamps.size() == num_stamps_;
    for (std::size_t i = 0; same_path && i < num_stamps_; ++i) {
        same_path = ack.stamps[i].port == last_[i].port;
    }
    if (!started_ || !same_path) {
        started_ = true;
        keep(ack.stamps);
        commit_after_ = ack.sent;
        return;
    }
    // The first RTT only collects stamps.
    measure(ack.stamps);
    keep(ack.stamps);
    const double ratio = utilisation_ / parameters_->eta;
    const double increase = parameters_->increase_per_line * line_;
    const bool multiply = ratio >= 1 || stage_ >= parameters_->stages_max;
    const double wanted = (multiply ? reference_rate_ / ratio : reference_rate_) + increase;
    const auto rate_min = static_cast<double>(parameters_->rate_min.bits_per_second());
    rate_ = std::min(std::max(wanted, rate_min), line_);
    if (ack.answered >= commit_after_) {
        reference_rate_ = rate_;
        stage_ = multiply ? 0 : stage_ + 1;
        commit_after_ = ack.sent;
    }
}

}  // namespace orrery
