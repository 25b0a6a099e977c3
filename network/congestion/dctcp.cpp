// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/dctcp.h"

#include <algorithm>

namespace orrery {

Dctcp::Dctcp(const DctcpParameters& parameters, const PathInfo& path)
    : parameters_(&parameters),
      line_(static_cast<double>(path.line_rate.bits_per_second())),
      rate_(line_),
      bdp_(path.bdp()),
      packet_(path.packet_bytes) {}

// A packet may be sent while less than the scaled BDP is in flight: one more than fits.
std::int64_t Dctcp::window() const {
    const double scaled = static_cast<double>(bdp_) * rate_ / line_;
    return static_cast<std::int64_t>(scaled) + packet_ - 1;
}

void Dctcp::reduce(double factor, std::uint32_t sent) {
    rate_ = std::max(rate_ * factor, static_cast<double>(parameters_->rate_min.bits_per_second()));
    episode_end_ = sent;
}

void Dctcp::on_ack(const AckSample& ack) {
    ++acks_;
    marked_ += ack.marked ? 1 : 0;
    const bool in_episode = ack.acknowledged < episode_end_;
    const bool window_over = ack.acknowledged >= window_end_;
    if (window_over) {
        if (!first_window_) {
            const double share = static_cast<double>(marked_) / static_cast<double>(acks_);
            alpha_ = (1 - parameters_->gain) * alpha_ + parameters_->gain * share;
        }
        first_window_ = false;
        acks_ = marked_ = 0;
        window_end_ = ack.sent;
    }
    if (ack.marked && !in_episode) {
        reduce(1 - alpha_ / 2, ack.sent);
    } else if (window_over && !in_episode) {
        const auto step = static_cast<double>(parameters_->increase.bits_per_second());
        rate_ = std::min(rate_ + step, line_);
    }
}

void Dctcp::on_nack(const NackSample&) {
    reduce(0.5, episode_end_);
}

void Dctcp::on_timeout(Time, std::int64_t) {
    reduce(0.5, episode_end_);
}

UecDctcp::UecDctcp(const PathInfo& path)
    : packet_(path.packet_bytes), window_(std::max(path.bdp() * 3 / 2, packet_)) {}

void UecDctcp::on_ack(const AckSample& ack) {
    if (ack.marked) {
        shrink(ack.bytes / 3);
    } else {
        window_ += ack.bytes * packet_ / window_;
    }
}

void UecDctcp::shrink(std::int64_t bytes) {
    window_ = std::max(window_ - bytes, packet_);
}

}  // namespace orrery
