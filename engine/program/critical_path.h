// SPDX-License-Identifier: Apache-2.0
// The critical path, accumulated forward: every end carries the PathTimes of the path to it, whose
// total is the time of that end. What starts at t continues the path of the condition that became
// true last. Ties: before a wait and before the launch, the stream's own previous op; of several
// waits the lowest stream; of several members or parts the path with more time in earlier causes
// (which no numbering of ranks can change, so that folded and unfolded runs agree).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/program/cause.h"

namespace orrery {

// The first of the causes: what an op, and so a path of ops, can be made of.
inline constexpr std::size_t kNumOpCauses = static_cast<std::size_t>(Cause::host) + 1;

// Time by cause of what ops do. Two cache lines: each stream and each transfer under way has one.
struct PathTimes {
    std::array<Time, kNumOpCauses> of{};

    Time& operator[](Cause c) { return of[static_cast<std::size_t>(c)]; }
    const Time& operator[](Cause c) const { return of[static_cast<std::size_t>(c)]; }
    Time total() const {
        Time sum;
        for (const Time time : of) {
            sum += time;
        }
        return sum;
    }
    PathTimes& operator+=(const PathTimes& other) {
        for (std::size_t i = 0; i < kNumOpCauses; ++i) {
            of[i] += other.of[i];
        }
        return *this;
    }
    // Looks at all of it: a loop that does not stop early is a few instructions on vectors.
    bool operator==(const PathTimes& other) const {
        std::int64_t differ = 0;
        for (std::size_t i = 0; i < kNumOpCauses; ++i) {
            differ |= of[i].picoseconds() ^ other.of[i].picoseconds();
        }
        return differ == 0;
    }
    CauseTimes by_cause() const {
        CauseTimes times;
        std::ranges::copy(of, times.of.begin());
        return times;
    }
};
static_assert(sizeof(PathTimes) == 128);

inline bool preferred(const PathTimes& a, const PathTimes& b) {
    // Most ties are between members that did the same.
    return !(a == b) && a.of > b.of;
}

// The path so far to the last of several ends.
struct LatestPath {
    Time end = Time::picoseconds(-1);
    PathTimes path;

    void offer(Time other_end, const PathTimes& other) {
        if (other_end > end || (other_end == end && preferred(other, path))) {
            end = other_end;
            path = other;
        }
    }
};

// A transfer that took `taken` from its last arrival: what it takes alone, and what sharing adds.
inline void add_transfer(PathTimes& path, Cause cause, Time alone, Time taken) {
    const Time own = alone < taken ? alone : taken;
    path[cause] += own;
    path[Cause::network_contention] += taken - own;
}

}  // namespace orrery
