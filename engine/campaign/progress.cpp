// SPDX-License-Identifier: Apache-2.0
#include "engine/campaign/progress.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {
namespace {

std::int64_t product(std::int64_t value, std::int64_t rate) {
    return static_cast<std::int64_t>(static_cast<__int128>(value) * rate / kFullRate);
}

// value * part / whole; `value` if `whole` is zero (a span without work).
std::int64_t share_of(std::int64_t value, std::int64_t part, std::int64_t whole) {
    if (whole == 0) {
        return value;
    }
    return static_cast<std::int64_t>(static_cast<__int128>(value) * part / whole);
}

}  // namespace

std::int64_t Progress::rate_now() const {
    const std::int64_t own = product(rate_.work, kFullRate - timing_.memory_share);
    const bool copying = pending_ >= 0 && now_ < copy_end_ && copy_end_ > store_until_;
    return std::max<std::int64_t>(1, copying ? product(own, timing_.copy_rate) : own);
}

void Progress::open_span() {
    spans_.push_back(
        {.begin = now_, .end = now_, .work_begin = work_, .work_end = work_, .nodes = rate_.nodes});
    stalled_us_ = 0;
}

void Progress::close_span(Accounts& accounts) {
    TrainingSpan& span = spans_.back();
    span.end = now_;
    span.work_end = work_;
    if (span.begin == span.end) {
        spans_.pop_back();
        return;
    }
    const std::int64_t trained = (now_ - span.begin).microseconds() - stalled_us_;
    span.trained = WallTime::microseconds(trained);
    const std::int64_t copying = product(trained, timing_.memory_share);
    const std::int64_t slow = product(trained - copying, rate_.slow);
    span.straggler = slow * rate_.nodes;
    span.productive = (trained - copying - slow) * rate_.nodes;
    accounts.add(NodeUse::straggler, WallTime::microseconds(slow), rate_.nodes);
    accounts.add(
        NodeUse::productive, WallTime::microseconds(trained - copying - slow), rate_.nodes);
    accounts.add(NodeUse::checkpoint, WallTime::microseconds(stalled_us_ + copying), rate_.nodes);
    kept_ += span.trained;
}

void Progress::set_rate(const TrainingRate& rate, Accounts& accounts) {
    if (rate == rate_) {
        return;
    }
    if (training_) {
        close_span(accounts);
    }
    rate_ = rate;
    if (training_) {
        open_span();
    }
}

void Progress::store_down(WallTime now, WallTime until) {
    store_until_ = std::max(store_until_, until);
    if (pending_ >= 0 && copy_end_ > now) {
        copy_end_ = std::max(copy_end_, until + timing_.copy);
    }
}

void Progress::store_slow(WallTime until, double factor) {
    slow_until_ = until;
    slow_store_ = factor;
}

// The duration of an operation of the store that begins now and normally takes `time`.
WallTime Progress::in_store(WallTime time) const {
    return now_ < slow_until_ ? WallTime::seconds(time.seconds() * slow_store_) : time;
}

void Progress::make_durable(std::int64_t work) {
    durable_.push_back(work);
    ++checkpoints_;
    if (tears_) {
        torn_.push_back(work);
        tears_ = false;
    }
}

void Progress::start(WallTime now) {
    ORRERY_CHECK(!training_);
    training_ = true;
    stalled_ = false;
    now_ = now;
    pending_ = -1;
    next_ = timing_.interval > WallTime{} ? work_ + timing_.interval.microseconds() : INT64_MAX;
    open_span();
}

// The checkpoint is in the hosts' memories or, without a background copy, in the store.
void Progress::end_stall() {
    stalled_ = false;
    next_ = work_ + timing_.interval.microseconds();
    if (timing_.copy == WallTime{}) {
        if (now_ >= store_until_) {
            make_durable(work_);
        }
        return;
    }
    pending_ = work_;
    copy_end_ = std::max(now_, store_until_) + in_store(timing_.copy);
}

void Progress::settle_copy() {
    if (pending_ >= 0 && now_ >= copy_end_) {
        make_durable(pending_);
        pending_ = -1;
    }
}

void Progress::advance(WallTime to, Accounts&) {
    ORRERY_CHECK(training_ && to >= now_);
    while (now_ < to) {
        if (stalled_) {
            const WallTime end = std::min(stall_end_, to);
            stalled_us_ += (end - now_).microseconds();
            now_ = end;
            settle_copy();
            if (now_ == stall_end_) {
                end_stall();
            }
            continue;
        }
        const bool copying = pending_ >= 0 && now_ < copy_end_;
        WallTime until = copying ? std::min(to, copy_end_) : to;
        const std::int64_t rate = rate_now();
        const __int128 missing = static_cast<__int128>(next_ - work_) * kFullRate;
        const __int128 needed = (missing + rate - 1) / rate;
        if (next_ != INT64_MAX && needed <= (until - now_).microseconds()) {
            now_ += WallTime::microseconds(static_cast<std::int64_t>(needed));
            work_ = next_;
            settle_copy();
            stalled_ = true;
            const WallTime free = pending_ >= 0 ? std::max(now_, copy_end_) : now_;
            // Without a background copy the stall is a write to the store.
            stall_end_ =
                free + (timing_.copy == WallTime{} ? in_store(timing_.stall) : timing_.stall);
            if (stall_end_ == now_) {
                end_stall();
            }
            continue;
        }
        work_ += product((until - now_).microseconds(), rate);
        now_ = until;
        settle_copy();
    }
}

void Progress::stop(Accounts& accounts) {
    if (!training_) {
        return;
    }
    close_span(accounts);
    training_ = false;
    stalled_ = false;
    pending_ = -1;  // a copy in progress is lost
}

void Progress::pause(Accounts& accounts) {
    ORRERY_CHECK(training_);
    close_span(accounts);
    training_ = false;
}

void Progress::resume(WallTime now) {
    ORRERY_CHECK(!training_);
    training_ = true;
    if (stalled_) {
        stall_end_ += now - now_;
    }
    now_ = now;
    settle_copy();
    open_span();
}

void Progress::commit_all(WallTime now) {
    ORRERY_CHECK(!training_);
    if (now >= store_until_ && durable() < work_) {
        make_durable(work_);
    }
}

void Progress::roll_back(std::int64_t work, Accounts& accounts) {
    ORRERY_CHECK(!training_ && work >= 0);
    last_loss_ = WallTime{};
    while (!spans_.empty() && spans_.back().work_end > work) {
        TrainingSpan& span = spans_.back();
        const std::int64_t size = span.work_end - span.work_begin;
        const std::int64_t over = std::min(size, span.work_end - work);
        const std::int64_t productive = share_of(span.productive, over, size);
        const std::int64_t straggler = share_of(span.straggler, over, size);
        const WallTime trained =
            WallTime::microseconds(share_of(span.trained.microseconds(), over, size));
        accounts.move(NodeUse::productive, NodeUse::lost, productive);
        accounts.move(NodeUse::straggler, NodeUse::lost, straggler);
        kept_ = kept_ - trained;
        last_loss_ += trained;
        if (over == size) {
            spans_.pop_back();
            continue;
        }
        span.productive -= productive;
        span.straggler -= straggler;
        span.trained = span.trained - trained;
        span.work_end = work;
        span.end = span.end - trained;
    }
    while (!durable_.empty() && durable_.back() > work) {
        durable_.pop_back();
    }
    while (!torn_.empty() && torn_.back() > work) {
        torn_.pop_back();
    }
    work_ = std::min(work_, work);
}

std::int64_t Progress::durable_before(std::int64_t work_max, std::uint32_t back) const {
    for (auto at = std::upper_bound(durable_.begin(), durable_.end(), work_max);
         at != durable_.begin();) {
        --at;
        if (!std::binary_search(torn_.begin(), torn_.end(), *at) && back-- == 0) {
            return *at;
        }
    }
    return 0;
}

std::int64_t Progress::in_memory() const {
    const std::int64_t interval = timing_.memory_interval.microseconds();
    return interval > 0 ? work_ / interval * interval : -1;
}

WallTime Progress::earliest(std::int64_t work) const {
    const __int128 missing = static_cast<__int128>(std::max<std::int64_t>(0, work - work_));
    const __int128 needed = (missing * kFullRate + rate_now() - 1) / rate_now();
    return needed > WallTime::max().microseconds() / 2
               ? WallTime::max()
               : now_ + WallTime::microseconds(static_cast<std::int64_t>(needed));
}

WallTime Progress::next_checkpoint() const {
    if (stalled_ || next_ == INT64_MAX) {
        return now_;
    }
    const __int128 missing = static_cast<__int128>(next_ - work_) * kFullRate;
    return now_ + WallTime::microseconds(static_cast<std::int64_t>(missing / rate_now()));
}

}  // namespace orrery
