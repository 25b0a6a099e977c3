// SPDX-License-Identifier: Apache-2.0
// Accelerations::scheduled_arrivals. A run before a collective that nothing can slow down (a
// tensor-parallel one inside a node) has no event: the collective learns when the run will arrive,
// and has one event in all, at the latest arrival plus what it takes.
#pragma once

#include "engine/execution_part.h"

namespace orrery {

class ScheduledArrivals : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // A run that ends at `due` tells the collective after it. False if the run has to have an event
    // of its own: something else than arrivals decides when the collective ends, or a kernel would
    // notice the arrival.
    bool announce(std::uint32_t id, const TapeItem& item, Time due);
    // All members have arrived or said when they will. May be called again when one of them
    // changes.
    void expect_end(std::uint32_t t);
    // The runs that were announced have ended, and their streams have arrived.
    void arrive(std::uint32_t t, Time now);
};

}  // namespace orrery
