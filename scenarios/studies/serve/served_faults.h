// SPDX-License-Identifier: Apache-2.0
// The effects of a scenario's faults on serving instances and on the transfers between them.
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

// A fault with the instances (over all pools) that it stops or slows down.
struct ServedFault {
    Time at;
    std::string what;        // "node_crash at node:3"
    double factor = 0;       // slowdown of the affected parts; 0: they stop
    Time end = Time::max();  // end of the slowdown, or of the links' stall
    std::vector<std::size_t> instances;
    // Indices in ServingFaults::outages of the outages that it began
    std::vector<std::size_t> outages;
};

struct ServedFaults {
    ServingFaults instances;
    std::vector<CapacityChange> links;  // ascending
    std::vector<ServedFault> faults;    // ascending
};

// The faults before `until`. An instance stops with any of its GPUs or nodes. It also stops with an
// adapter or a leaf switch if it needs the network, because it spans nodes or sends caches. It is
// back after the fault's duration, if it has one, and the instance's start-up. `fabric` is for
// transfers between pools, or null.
Result<ServedFaults> served_faults(const Scenario& scenario,
                                   const ServingSpec& spec,
                                   Time until,
                                   const Fabric* fabric);

// The time from the end of a repair until an instance of the pool serves: its processes start, and
// each node reads its weights.
Time start_up_of(const ServingSpec& spec,
                 const ServingPoolSpec& pool,
                 const Transformer& model,
                 std::int64_t gpus_per_node);

// Adds the effects of faults on a served load to the answer: outages, availability, moved requests.
void report_faults(const ServedFaults& faults,
                   const ServingResult& served,
                   std::size_t instances,
                   ServingAnswer& answer);

// An error if the start-up takes longer than a day, because the clock of a served load ends after
// 106 days.
Result<void> check_start_up(Time start_up);

}  // namespace orrery
