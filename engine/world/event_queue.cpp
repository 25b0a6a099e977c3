// SPDX-License-Identifier: Apache-2.0
#include "engine/world/event_queue.h"

#include <bit>
#include <utility>

#include "engine/base/check.h"

namespace orrery {

std::size_t EventQueue::bucket_of(Time time, Time last) {
    return static_cast<std::size_t>(
        std::bit_width(static_cast<std::uint64_t>(time.picoseconds() ^ last.picoseconds())));
}

void EventQueue::schedule(Time time, std::uint32_t target, std::uint32_t generation) {
    ORRERY_CHECK(time >= last_);
    const std::size_t bucket = bucket_of(time, last_);
    const Event event{time, target, generation};
    buckets_[bucket].push_back(event);
    filled_ |= bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
    ++size_;
    if (time < next_.time) {
        next_ = event;
    }
}

Event EventQueue::pop() {
    ORRERY_CHECK(size_ > 0);
    if (head_ == buckets_[0].size()) {
        buckets_[0].clear();
        head_ = 0;
        pull(static_cast<std::size_t>(std::countr_zero(filled_)) + 1);
    }
    --size_;
    const Event event = buckets_[0][head_++];
    find_next();
    return event;
}

// Empties the lowest bucket with events. Its earliest events are the next ones; all others move to
// lower buckets.
void EventQueue::pull(std::size_t bucket) {
    last_ = next_.time;
    for (const Event& event : buckets_[bucket]) {
        const std::size_t lower = bucket_of(event.time, last_);
        buckets_[lower].push_back(event);
        filled_ |= lower == 0 ? 0 : std::uint64_t{1} << (lower - 1);
    }
    buckets_[bucket].clear();
    filled_ &= ~(std::uint64_t{1} << (bucket - 1));
}

void EventQueue::find_next() {
    if (head_ < buckets_[0].size()) {
        next_ = buckets_[0][head_];
        return;
    }
    next_ = {.time = Time::max()};
    if (filled_ == 0) {
        return;
    }
    for (const Event& event : buckets_[static_cast<std::size_t>(std::countr_zero(filled_)) + 1]) {
        if (event.time < next_.time) {
            next_ = event;
        }
    }
}

}  // namespace orrery
