// SPDX-License-Identifier: Apache-2.0
// Pending events, ordered by (time, order of scheduling). Events are never removed: a target that
// changes its mind schedules a new one with a higher generation, and whoever pops the old one sees
// that it is stale. A four-ary heap: its sift-down touches half the cache lines of a binary one.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/units.h"

namespace orrery {

struct Event {
    Time time;
    std::uint64_t sequence = 0;
    std::uint32_t target = 0;
    std::uint32_t generation = 0;
};

class EventQueue {
public:
    void schedule(Time time, std::uint32_t target, std::uint32_t generation);
    bool empty() const { return heap_.empty(); }
    std::size_t size() const { return heap_.size(); }
    // Time::max() if none is pending.
    Time next_time() const { return heap_.empty() ? Time::max() : heap_.front().time; }
    std::uint32_t next_target() const { return heap_.front().target; }
    Event pop();  // the earliest; among equals the first scheduled

private:
    void move_up(std::size_t hole, const Event& event);

    std::vector<Event> heap_;
    std::uint64_t next_sequence_ = 0;
};

}  // namespace orrery
