// SPDX-License-Identifier: Apache-2.0
#include "engine/event_queue.h"

#include <algorithm>

#include "engine/check.h"

namespace orrery {

namespace {

constexpr std::size_t kArity = 4;

// One number, so that comparing takes no branch. No time is negative.
using Key = unsigned __int128;

Key key_of(const Event& event) {
    return static_cast<Key>(static_cast<std::uint64_t>(event.time.picoseconds())) << 64 |
           event.sequence;
}

bool before(const Event& a, const Event& b) {
    return key_of(a) < key_of(b);
}

}  // namespace

void EventQueue::schedule(Time time, std::uint32_t target, std::uint32_t generation) {
    const Event event{time, next_sequence_++, target, generation};
    heap_.push_back(event);
    move_up(heap_.size() - 1, event);
}

void EventQueue::move_up(std::size_t hole, const Event& event) {
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
    // The hole sinks to the bottom first: what was last mostly belongs there.
    std::size_t hole = 0;
    for (std::size_t first = 1; first < size; first = hole * kArity + 1) {
        std::size_t least = first;
        Key least_key = key_of(heap_[first]);
        const std::size_t end = std::min(first + kArity, size);
        for (std::size_t child = first + 1; child < end; ++child) {
            const Key key = key_of(heap_[child]);
            least = key < least_key ? child : least;
            least_key = key < least_key ? key : least_key;
        }
        heap_[hole] = heap_[least];
        hole = least;
    }
    move_up(hole, moved);
    return top;
}

}  // namespace orrery
