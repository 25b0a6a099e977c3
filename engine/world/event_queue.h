// SPDX-License-Identifier: Apache-2.0
// Pending events, ordered by (time, order of scheduling). Events are never removed: a target that
// changes its mind schedules a new one with a higher generation, and the old one is known to be
// stale when it is popped. Time never goes back, so a radix heap (Ahuja, Mehlhorn, Orlin and
// Tarjan, JACM 1990) does: bucket b holds the events whose times differ from the last popped one
// first in bit b - 1. Equal times always lie in the same bucket, in the order of scheduling; an
// event only ever moves to lower buckets, and sequentially, where a heap's paths miss the cache.
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
    // Not before the last event that was popped.
    void schedule(Time time, std::uint32_t target, std::uint32_t generation);
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    // Time::max() if none is pending.
    Time next_time() const { return next_.time; }
    const Event& next() const { return next_; }
    Event pop();  // the earliest; among equals the first scheduled

private:
    static std::size_t bucket_of(Time time, Time last);
    void pull(std::size_t bucket);
    void find_next();

    std::array<std::vector<Event>, 65> buckets_;
    std::uint64_t filled_ = 0;  // bit b - 1: bucket b is not empty
    std::size_t head_ = 0;      // of bucket 0: popped so far
    std::size_t size_ = 0;
    Time last_;  // the last popped
    Event next_{.time = Time::max()};
};

}  // namespace orrery
