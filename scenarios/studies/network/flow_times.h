// SPDX-License-Identifier: Apache-2.0
// Completion times of many flows in a few numbers.
#pragma once

#include <span>

#include "engine/base/units.h"
#include "scenarios/studies/network/network_answer.h"

namespace orrery {

struct FlowTime {
    Time time;      // from its start to its end, or to when it gave up
    Time unloaded;  // in an empty network
    Time stalled;
    bool finished = true;
    bool moved = false;
};

// Percentiles by nearest rank. Times and slowdowns are those of finished flows.
FlowTimes summarise(Bytes size, std::span<const FlowTime> flows);

}  // namespace orrery
