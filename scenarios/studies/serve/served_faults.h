// SPDX-License-Identifier: Apache-2.0
// What a scenario's faults do to the instances that serve, and to the transfers between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/instance_faults.h"
#include "engine/serving/serving_run.h"
#include "engine/world/step_events.h"
#include "network/fabric/fabric.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct ServingAnswer;

// A fault that comes, and the instances (over all pools) that it stops or slows down.
struct ServedFault {
    Time at;
    std::string what;        // "node_crash at node:3"
    double factor = 0;       // of what is slower; 0: it stops
    Time end = Time::max();  // of the slowdown, or of the stall of links
    std::vector<std::size_t> instances;
    std::vector<std::size_t> outages;  // of ServingFaults::outages, those that it began
};

struct ServedFaults {
    ServingFaults instances;
    std::vector<CapacityChange> links;  // ascending
    std::vector<ServedFault> faults;    // ascending
};

// Faults that come before `until`. An instance stops with any of its GPUs or nodes; with an adapter
// or a leaf switch if it needs the network, because it spans nodes or sends caches. It is back when
// the fault's duration has passed, if it has one, and the instance has started up. `fabric`: for
// transfers between pools, else null.
Result<ServedFaults> served_faults(const Scenario& scenario,
                                   const ServingSpec& spec,
                                   Time until,
                                   const Fabric* fabric);

// From the end of a repair until an instance of the pool serves: its processes start, and each node
// reads its weights.
Time start_up_of(const ServingSpec& spec,
                 const ServingPoolSpec& pool,
                 const Transformer& model,
                 std::int64_t gpus_per_node);

// Adds what faults did to a served load to the answer: outages, availability, moved requests.
void report_faults(const ServedFaults& faults,
                   const ServingResult& served,
                   std::size_t instances,
                   ServingAnswer& answer);

// An error where it takes longer than a day: clocks of a served load end after 106 days.
Result<void> check_start_up(Time start_up);

}  // namespace orrery
