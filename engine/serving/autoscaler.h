// SPDX-License-Identifier: Apache-2.0
// The number of serving instances of a pool: a policy that does not advance time itself. The run
// asks it once an interval and starts instances. An instance that is to stop first finishes its
// requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

// A pool over the interval that has just ended.
struct PoolObservation {
    std::int64_t instances = 0;  // serving or starting
    double seconds = 0;          // length of the interval
    std::int64_t arrivals = 0;   // requests sent to the pool
    std::int64_t waiting = 0;    // at the end of the interval
    // Share of the blocks of the serving instances in use, at the end of the interval
    double cache_use = 0;
    std::int64_t ended = 0;  // requests of the whole load
    std::int64_t good = 0;   // ended requests that met their objectives
};

class Autoscaler {
public:
    virtual ~Autoscaler() = default;
    virtual std::int64_t wanted(const PoolObservation& seen) const = 0;
};

// The names of the policies, and the meaning of `target`:
//   none        the stated number of instances
//   rate        requests a second per instance
//   queue       waiting requests per instance
//   cache       share of the cache in use
//   objectives  share of the requests that meet their objectives: one more instance below the
//   target,
//               one fewer if all requests meet them
std::vector<std::string_view> autoscaler_names();
// Null for an unknown name, and for `none`.
std::unique_ptr<Autoscaler> make_autoscaler(std::string_view name, double target);

// The limits of a pool's size, and the start-up time of an instance.
struct PoolScaling {
    std::int64_t min_instances = 1;
    Time start_up;  // of an instance: processes, weights, captured graphs
};
struct Scaling {
    const Autoscaler* policy = nullptr;
    Time interval = Time::seconds(10);
    // The number of instances does not fall below the largest number wanted within this time.
    Time scale_down_delay = Time::seconds(60);
    std::vector<PoolScaling> pools;
    // The objectives of a request; zero: no objective.
    Time first_token;
    Time output_token;
};

}  // namespace orrery
