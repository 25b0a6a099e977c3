// SPDX-License-Identifier: Apache-2.0
// A summary of the completion times of many flows.
#pragma once

#include <span>

#include "engine/base/units.h"
#include "scenarios/studies/network/network_answer.h"

namespace orrery {

struct FlowTime {
    Time time;      // from its start to its end, or to the time at which it gave up
    Time unloaded;  // in an empty network
    Time stalled;
    bool finished = true;
    bool moved = false;
};

// Percentiles by nearest rank. Times and slowdowns include only finished flows.
FlowTimes summarise(Bytes size, std::span<const FlowTime> flows);

}  // namespace orrery
