// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/dcqcn.h"

#include <algorithm>

namespace orrery {

DcqcnParameters DcqcnParameters::paper() {
    DcqcnParameters set;
    set.alpha_period = Time::picoseconds(55'000'000);
    set.decrease_period = Time::picoseconds(50'000'000);
    set.increase_period = Time::picoseconds(55'000'000);
    set.fast_recovery_stages = 5;
    set.byte_counter = 10'000'000;
    set.clamp_target = true;  // "R_T = R_C; R_C = R_C (1 - alpha/2)" at every CNP, algorithm 1
    set.cnp_interval = Time::picoseconds(50'000'000);
    return set;
}

Dcqcn::Dcqcn(const DcqcnParameters& parameters, const PathInfo& path)
    : parameters_(&parameters),
      line_(static_cast<double>(path.line_rate.bits_per_second())),
      rate_(line_),
      target_(line_) {}

Time Dcqcn::next_timer() const {
    return std::min(decrease_at_, increase_at_);
}

// Updates alpha: once per period, alpha = (1-g) alpha, plus g if a CNP came in the period. It is
// called only before a decrease, which alone reads alpha.
void Dcqcn::roll_alpha(Time now) {
    constexpr int kPeriodsMax = 1 << 14;  // (255/256)^2^14 is nothing
    int periods = 0;
    while (now - alpha_since_ >= parameters_->alpha_period && periods++ < kPeriodsMax) {
        const double news = cnp_in_alpha_period_ ? parameters_->gain : 0;
        alpha_ = (1 - parameters_->gain) * alpha_ + news;
        cnp_in_alpha_period_ = false;
        alpha_since_ += parameters_->alpha_period;
    }
    if (periods > kPeriodsMax) {
        alpha_since_ = now;
    }
}

void Dcqcn::on_ack(const AckSample& ack) {
    if (notified_ && parameters_->byte_counter > 0 && rate_ < line_) {
        bytes_ += ack.bytes;  // acknowledged bytes instead of sent ones: equal in the long run
        if (bytes_ >= parameters_->byte_counter) {
            bytes_ = 0;
            ++byte_stage_;
            increase();
        }
    }
    if (!ack.notified) {
        return;
    }
    if (!notified_) {  // the first CNP starts the clocks at full alpha, without a decrease
        notified_ = true;
        alpha_ = 1;
        alpha_since_ = ack.now;
        decrease_start_ = ack.now;
        increase_at_ = ack.now + parameters_->increase_period;
    }
    roll_alpha(ack.now);
    cnp_in_alpha_period_ = true;
    if (decrease_at_ == Time::max()) {
        const Time period = parameters_->decrease_period;
        const auto passed = (ack.now - decrease_start_).picoseconds() / period.picoseconds();
        decrease_at_ = decrease_start_ + period * (passed + 1);
    }
}

void Dcqcn::decrease(Time now) {
    roll_alpha(now);
    if (parameters_->clamp_target || timer_stage_ > 0 || byte_stage_ > 0) {
        target_ = rate_;
    }
    const auto rate_min = static_cast<double>(parameters_->rate_min.bits_per_second());
    rate_ = std::max(rate_ * (1 - alpha_ / 2), rate_min);
    timer_stage_ = byte_stage_ = 0;
    bytes_ = 0;
    increase_at_ = now + parameters_->increase_period;
    decrease_start_ = now;
    decrease_at_ = Time::max();
}

void Dcqcn::increase() {
    const std::uint32_t stages = parameters_->fast_recovery_stages;
    const bool two_counters = parameters_->byte_counter > 0;
    const std::uint32_t most = two_counters ? std::max(timer_stage_, byte_stage_) : timer_stage_;
    const std::uint32_t least = two_counters ? std::min(timer_stage_, byte_stage_) : timer_stage_;
    // Stages are counted after this step: F steps of recovery, one additive, then hyper.
    const std::uint32_t hyper_above = two_counters ? stages : stages + 1;
    if (least > hyper_above) {
        const double steps = two_counters ? static_cast<double>(least - stages) : 1.0;
        target_ += steps * parameters_->hyper_per_line * line_;
    } else if (most > stages) {
        target_ += parameters_->additive_per_line * line_;
    }
    target_ = std::min(target_, line_);
    rate_ = (rate_ + target_) / 2;
    if (target_ >= line_ && rate_ > line_ * 0.9999) {
        rate_ = line_;
    }
}

void Dcqcn::on_timer(Time now) {
    if (decrease_at_ <= now) {
        decrease(now);
    }
    if (increase_at_ <= now) {
        ++timer_stage_;
        increase();
        increase_at_ = rate_ < line_ ? now + parameters_->increase_period : Time::max();
    }
}

}  // namespace orrery
