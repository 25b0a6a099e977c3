// SPDX-License-Identifier: Apache-2.0
// The activity of instances over time, in bounded memory: the load of each pool in equal parts of
// the time, and the steps of some instances around the time with the most requests.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/base/units.h"
#include "engine/serving/serving_observer.h"

namespace orrery {

// Means over one part of the time, of all instances of a pool together.
struct PoolLoad {
    double computing = 0;  // number of instances that compute
    double sequences = 0;  // in their steps
    double waiting = 0;    // requests in the queues of computing instances
    double cache = 0;      // used cache of computing instances, in whole caches
};

class ServedTimeline : public ServingObserver {
public:
    static constexpr std::size_t kMostParts = 240;
    static constexpr std::size_t kShownInstances = 4;  // the first ones of each pool
    static constexpr std::size_t kShownSteps = 300;

    // The steps of a shown instance, in the order of their ends.
    struct Lane {
        std::size_t pool = 0;
        std::size_t instance = 0;
        std::vector<ServedStep> steps;
    };

    // Also keeps single steps, up to this number.
    void keep(std::size_t most) { most_kept_ = most; }
    void completed(const ServedStep& step) override;

    const std::vector<ServedStep>& kept() const { return kept_; }
    // The number of steps after kept() was full.
    std::int64_t left_out() const { return left_out_; }

    // The length of a part; the first part begins at 0.
    Time part() const { return Time::picoseconds(part_); }
    // By pool, then by part.
    std::vector<std::vector<PoolLoad>> loads() const;
    // The steps in a window around the time at which the shown instances had the most requests.
    std::vector<Lane> fullest() const;

private:
    struct Ring {
        std::size_t pool = 0;
        std::size_t instance = 0;
        std::deque<ServedStep> steps;
        std::int64_t requests = 0;  // at its last step
    };

    void add_load(const ServedStep& step);
    void widen();
    void add(std::size_t pool, Time begin, Time end, double PoolLoad::*field, double value);
    Ring& ring_of(const ServedStep& step);
    std::vector<Lane> window_of(const Ring& ring) const;

    std::int64_t part_ = 1'000'000;            // in picoseconds
    std::vector<std::vector<PoolLoad>> sums_;  // value times picoseconds
    std::vector<Ring> rings_;
    std::int64_t requests_ = 0;  // of all rings
    std::int64_t most_requests_ = 0;
    std::size_t fullest_ring_ = 0;  // ring with a step completed at the fullest time
    std::size_t steps_since_ = 0;   // steps of that ring since the fullest time
    bool is_open_ = false;          // the window still grows after the fullest time
    std::vector<Lane> fullest_;
    std::size_t most_kept_ = 0;
    std::vector<ServedStep> kept_;
    std::int64_t left_out_ = 0;
};

}  // namespace orrery
