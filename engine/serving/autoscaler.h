// SPDX-License-Identifier: Apache-2.0
// How many instances of a pool serve: a policy object without time of its own. The run asks it from
// interval to interval, starts instances, and lets others serve what they have to its end.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

// A pool in the interval that has ended.
struct PoolObservation {
    std::int64_t instances = 0;  // that serve or start
    double seconds = 0;          // of the interval
    std::int64_t arrivals = 0;   // requests sent to the pool
    std::int64_t waiting = 0;    // now
    double cache_use = 0;        // now, of the blocks of the instances that serve
    std::int64_t ended = 0;      // requests of the load
    std::int64_t good = 0;       // of these, that met their objectives
};

class Autoscaler {
public:
    virtual ~Autoscaler() = default;
    virtual std::int64_t wanted(const PoolObservation& seen) const = 0;
};

// The names of the policies. `target`:
//   none        the stated number of instances
//   rate        requests a second of an instance
//   queue       waiting requests of an instance
//   cache       share of the cache that is in use
//   objectives  share of the requests that meet their objectives: one more instance below it, one
//               fewer where all do
std::vector<std::string_view> autoscaler_names();
// Null if there is none of that name, and for `none`.
std::unique_ptr<Autoscaler> make_autoscaler(std::string_view name, double target);

// How a pool of a run follows its load.
struct PoolScaling {
    std::int64_t min_instances = 1;
    Time start_up;  // of an instance: processes, weights, captured graphs
};
struct Scaling {
    const Autoscaler* policy = nullptr;
    Time interval = Time::seconds(10);
    // As many instances go on as were wanted at most in this time.
    Time scale_down_delay = Time::seconds(60);
    std::vector<PoolScaling> pools;
    // What a request must meet; zero: anything.
    Time first_token;
    Time output_token;
};

}  // namespace orrery
