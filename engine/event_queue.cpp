// SPDX-License-Identifier: Apache-2.0
#include "engine/event_queue.h"

#include <algorithm>

#include "engine/check.h"

namespace orrery {

namespace {

constexpr std::size_t kArity = 4;

bool before(const Event& a, const Event& b) {
    return a.time < b.time || (a.time == b.time && a.sequence < b.sequence);
}

}  // namespace

void EventQueue::schedule(Time time, std::uint32_t target, std::uint32_t generation) {
    const Event event{time, next_sequence_++, target, generation};
    heap_.push_back(event);
    std::size_t hole = heap_.size() - 1;
    while (hole > 0) {
        const std::size_t parent = (hole - 1) / kArity;
        if (!before(event, heap_[parent])) {
            break;
        }
        heap_[hole] = heap_[parent];
        hole = parent;
    }
    heap_[hole] = event;
}

Event EventQueue::pop() {
    ORRERY_CHECK(!heap_.empty());
    const Event top = heap_.front();
    const Event moved = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size == 0) {
        return top;
    }
    std::size_t hole = 0;
    while (true) {
        const std::size_t first = hole * kArity + 1;
        if (first >= size) {
            break;
        }
        std::size_t least = first;
        const std::size_t end = std::min(first + kArity, size);
        for (std::size_t child = first + 1; child < end; ++child) {
            if (before(heap_[child], heap_[least])) {
                least = child;
            }
        }
        if (!before(heap_[least], moved)) {
            break;
        }
        heap_[hole] = heap_[least];
        hole = least;
    }
    heap_[hole] = moved;
    return top;
}

}  // namespace orrery
