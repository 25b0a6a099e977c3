// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/nscc.h"

#include <algorithm>

namespace orrery {

Nscc::Nscc(const NsccParameters& parameters, const PathInfo& path)
    : parameters_(&parameters),
      line_bps_(path.line_rate.bits_per_second()),
      packet_(path.packet_bytes),
      mss_(static_cast<double>(path.packet_bytes - path.header_bytes)),
      network_rtt_(path.base_rtt.picoseconds()),
      base_rtt_(network_rtt_) {
    double share = parameters.target_share;
    if (share == 0) {
        share = path.trimming ? 0.75 : 1.0;
    }
    const auto bdp = static_cast<double>(path.bdp());
    target_ = static_cast<std::int64_t>(static_cast<double>(network_rtt_) * share);
    scale_ = bdp / parameters.reference_bdp;
    // alpha = 4 MSS a b / target with b = target / reference RTT.
    proportional_ = parameters.proportional * mss_ * scale_ /
                    static_cast<double>(parameters.reference_rtt.picoseconds());
    window_max_ = static_cast<std::int64_t>(parameters.window_max * bdp);
    window_ = std::max(window_max_, packet_);
}

// A path shorter than the network's longest one has a smaller BDP.
void Nscc::note_rtt(std::int64_t rtt) {
    if (rtt >= base_rtt_) {
        return;
    }
    base_rtt_ = rtt;
    const double bdp = static_cast<double>(rtt) * 1e-12 * static_cast<double>(line_bps_) / 8;
    window_max_ = static_cast<std::int64_t>(parameters_->window_max * bdp);
}

void Nscc::average(std::int64_t delay, bool marked) {
    const double gain = parameters_->delay_gain;
    // Without a mark, a long delay is due to the path, not to its queue.
    const double sample = !marked && delay > target_ ? 0.25 * static_cast<double>(base_rtt_)
                                                     : static_cast<double>(delay);
    average_ = gain * sample + (1 - gain) * average_;
}

bool Nscc::quick_adapt(
    Time now, bool loss, bool marked, std::int64_t delay, std::int64_t in_flight) {
    if (!parameters_->quick_adapt) {
        return false;
    }
    bool adapted = false;
    if (ignored_ < to_ignore_ && marked) {
        adapted = true;
    } else if (now > quick_end_) {
        const double threshold = parameters_->quick_delay * static_cast<double>(target_);
        if (quick_end_ != Time{} && (lost_ || loss || static_cast<double>(delay) > threshold) &&
            achieved_ < (window_max_ >> parameters_->quick_gate)) {
            window_ = std::max(achieved_, packet_);
            to_ignore_ = in_flight;
            ignored_ = 0;
            lost_ = false;
            adapted = true;
        }
        achieved_ = 0;
        quick_end_ = now + Time::picoseconds(base_rtt_ + target_);
    }
    if (adapted) {
        increase_ = 0;
        received_ = 0;
    }
    return adapted;
}

bool Nscc::increase_fast(std::int64_t bytes, std::int64_t delay) {
    if (delay >= parameters_->fast_delay.picoseconds()) {
        empty_bytes_ = 0;
        return fast_ = false;
    }
    empty_bytes_ += bytes;
    fast_ = fast_ || empty_bytes_ > window_;
    if (fast_) {
        const double gain = parameters_->fast * scale_;
        window_ += static_cast<std::int64_t>(static_cast<double>(bytes) * gain);
    }
    return fast_;
}

void Nscc::increase_below_target(std::int64_t bytes, std::int64_t delay) {
    if (!increase_fast(bytes, delay)) {
        increase_ +=
            proportional_ * static_cast<double>(bytes) * static_cast<double>(target_ - delay);
    }
}

void Nscc::decrease(Time now) {
    fast_ = false;
    empty_bytes_ = 0;
    const auto target = static_cast<double>(target_);
    if (average_ > target && now - last_decrease_ > Time::picoseconds(base_rtt_)) {
        const double factor = std::max(1 - parameters_->decrease * (average_ - target) / average_,
                                       parameters_->decrease_max);
        window_ = static_cast<std::int64_t>(static_cast<double>(window_) * factor);
        last_decrease_ = now;
    }
}

void Nscc::clamp() {
    window_ = std::min(std::max(window_, packet_), std::max(window_max_, packet_));
}

void Nscc::apply_increase(Time now) {
    window_ += static_cast<std::int64_t>(increase_ / static_cast<double>(window_));
    if (now - last_adjust_ >= Time::picoseconds(network_rtt_)) {
        window_ += static_cast<std::int64_t>(parameters_->additive * mss_ * scale_);
        last_adjust_ = now;
    }
    increase_ = 0;
    received_ = 0;
}

void Nscc::on_ack(const AckSample& ack) {
    achieved_ += ack.bytes;
    received_ += ack.bytes;
    ignored_ += ack.bytes;
    auto delay = static_cast<std::int64_t>(average_);
    if (ack.rtt > Time{}) {
        note_rtt(ack.rtt.picoseconds());
        delay = ack.rtt.picoseconds() - base_rtt_;
        average(delay, ack.marked);
    }
    if (quick_adapt(ack.now, false, ack.marked, delay, ack.in_flight)) {
        return;
    }
    if (!ack.marked && delay >= target_) {
        increase_ += parameters_->fair * mss_ * scale_ * static_cast<double>(ack.bytes);
    } else if (!ack.marked) {
        increase_below_target(ack.bytes, delay);
    } else if (delay >= target_) {
        decrease(ack.now);
    }
    clamp();
    if (received_ > parameters_->adjust_packets * packet_ ||
        ack.now - last_adjust_ > Time::picoseconds(network_rtt_)) {
        apply_increase(ack.now);
    }
    clamp();
}

void Nscc::on_nack(const NackSample& nack) {
    if (nack.rtt > Time{}) {
        note_rtt(nack.rtt.picoseconds());
    }
    ignored_ += nack.bytes;
    average(network_rtt_, true);
    lost_ = true;
    if (!quick_adapt(nack.now, true, true, 0, nack.in_flight)) {
        window_ -= nack.bytes;
        clamp();
    }
}

void Nscc::on_timeout(Time, std::int64_t bytes) {
    window_ = std::max(window_ - bytes, packet_);
}

}  // namespace orrery
