// SPDX-License-Identifier: Apache-2.0
// The critical path, accumulated forward. Every end carries the PathTimes of the path to it; their
// total is the time of that end. A start at time t continues the path of the condition that became
// true last. Ties go to the stream's previous op before a wait or the launch; to the lowest stream
// among waits; and among members or parts to the path with more time in earlier causes. The last
// rule does not depend on the numbers of ranks, so that folded and unfolded runs agree.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/program/cause.h"

namespace orrery {

// The causes of ops, and so of a path of ops, come first in Cause.
inline constexpr std::size_t kNumOpCauses = static_cast<std::size_t>(Cause::host) + 1;

// Time by cause, of ops only. It fills two cache lines, because each stream and each transfer in
// flight has one.
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
    // Compares all entries: without an early exit the loop is a few vector instructions.
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
    // Most ties are between members with equal paths.
    return !(a == b) && a.of > b.of;
}

// The path to the latest of several ends.
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

// Adds a transfer that took `taken` since its last arrival. The time that it needs alone counts for
// `cause`, the rest for contention.
inline void add_transfer(PathTimes& path, Cause cause, Time alone, Time taken) {
    const Time own = alone < taken ? alone : taken;
    path[cause] += own;
    path[Cause::network_contention] += taken - own;
}

}  // namespace orrery
