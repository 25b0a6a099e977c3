// SPDX-License-Identifier: Apache-2.0
// Pending events, ordered by (time, order of scheduling). Events are never removed. To move an
// event, a target schedules a new one with a higher generation; the old one is recognised as stale
// when it is popped. Time never goes back, so that a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan,
// JACM 1990) fits. Bucket b holds the events whose highest bit of difference from the last popped
// time is bit b - 1. Events of equal time share a bucket, in the order of scheduling. An event
// moves only to lower buckets, and sequentially, while the paths of a binary heap miss the cache.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

struct Event {
    Time time;
    std::uint32_t target = 0;
    std::uint32_t generation = 0;
};

class EventQueue {
public:
    // `time` must not be before the last popped event.
    void schedule(Time time, std::uint32_t target, std::uint32_t generation);
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    // Time::max() if none is pending.
    Time next_time() const { return next_.time; }
    const Event& next() const { return next_; }
    Event pop();  // removes the earliest event; of equal times the one scheduled first

private:
    static std::size_t bucket_of(Time time, Time last);
    void pull(std::size_t bucket);
    void find_next();

    std::array<std::vector<Event>, 65> buckets_;
    std::uint64_t filled_ = 0;  // bit b - 1: bucket b is not empty
    std::size_t head_ = 0;      // events popped from bucket 0
    std::size_t size_ = 0;
    Time last_;  // time of the last popped event
    Event next_{.time = Time::max()};
};

}  // namespace orrery
