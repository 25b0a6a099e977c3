// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/swift.h"

#include <algorithm>
#include <cmath>

namespace orrery {

Swift::Swift(const SwiftParameters& parameters, const PathInfo& path)
    : parameters_(&parameters),
      base_(static_cast<double>(
          (parameters.base_target > Time{} ? parameters.base_target : path.base_rtt)
              .picoseconds())),
      window_(parameters.window_start > 0
                  ? parameters.window_start
                  : std::max(1.0, static_cast<double>(path.bdp()) / path.packet_bytes)),
      rtt_(static_cast<double>(path.base_rtt.picoseconds())),
      packet_(path.packet_bytes) {
    const double low = 1 / std::sqrt(parameters.window_low);
    const double high = 1 / std::sqrt(parameters.window_high);
    scaling_ = parameters.range * base_ / (low - high);
    offset_ = -scaling_ * high;
}

double Swift::target_ps(std::uint32_t hops) const {
    const double range = parameters_->range * base_;
    const double scaled = scaling_ / std::sqrt(window_) + offset_;
    return base_ * (1 + parameters_->hop_share * hops) + std::min(std::max(scaled, 0.0), range);
}

std::int64_t Swift::window() const {
    return static_cast<std::int64_t>(std::max(window_, 1.0) * static_cast<double>(packet_));
}

std::int64_t Swift::rate() const {
    if (window_ >= 1) {
        return kUnlimited;
    }
    return static_cast<std::int64_t>(window_ * static_cast<double>(packet_) * 8e12 / rtt_);
}

void Swift::scale_window(Time now, double factor) {
    if ((now - last_decrease_).picoseconds() < static_cast<std::int64_t>(rtt_)) {
        return;
    }
    window_ = std::max(window_ * std::max(factor, 1 - parameters_->decrease_max),
                       parameters_->window_min);
    last_decrease_ = now;
}

void Swift::on_ack(const AckSample& ack) {
    const double packets = static_cast<double>(ack.bytes) / static_cast<double>(packet_);
    const auto delay = static_cast<double>(ack.rtt.picoseconds());
    if (delay <= 0) {
        return;
    }
    note_rtt(ack.rtt);
    const double target = target_ps(ack.hops);
    if (delay < target) {
        const double step = parameters_->increase * packets;
        window_ += window_ >= 1 ? step / window_ : step;
        window_ = std::min(window_, parameters_->window_max);
    } else {
        scale_window(ack.now, 1 - parameters_->decrease * (delay - target) / delay);
    }
}

void Swift::on_nack(const NackSample& nack) {
    scale_window(nack.now, 0);
}

void Swift::on_timeout(Time now, std::int64_t) {
    scale_window(now, 0);
}

}  // namespace orrery
