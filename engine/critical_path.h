// SPDX-License-Identifier: Apache-2.0
// The critical path, accumulated forward: every end carries the CauseTimes of the path to it, whose
// total is the time of that end. What starts at t continues the path of the condition that became
// true last. Ties: before a wait and before the launch, the stream's own previous op; of several
// waits the lowest stream; of several members or parts the path with more time in earlier causes
// (which no numbering of ranks can change, so that folded and unfolded runs agree).
#pragma once

#include <cstring>

#include "engine/cause.h"
#include "engine/check.h"

namespace orrery {

inline bool preferred(const CauseTimes& a, const CauseTimes& b) {
    // Most ties are between members that did the same.
    return std::memcmp(&a, &b, sizeof(CauseTimes)) != 0 && a.of > b.of;
}

// The path so far to the last of several ends.
struct LatestPath {
    Time end = Time::picoseconds(-1);
    CauseTimes path;

    void offer(Time other_end, const CauseTimes& other) {
        if (other_end > end || (other_end == end && preferred(other, path))) {
            end = other_end;
            path = other;
        }
    }
};

// A transfer that took `taken` from its last arrival: what it takes alone, and what sharing adds.
inline void add_transfer(CauseTimes& path, Cause cause, Time alone, Time taken) {
    const Time own = alone < taken ? alone : taken;
    path[cause] += own;
    path[Cause::network_contention] += taken - own;
}

}  // namespace orrery
