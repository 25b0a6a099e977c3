// SPDX-License-Identifier: Apache-2.0
// Times for moving the state of a training to host memory, to the store, and back. For loading, one
// copy for each data-parallel group is read and then broadcast (MegaScale, NSDI 2024, section 4.4:
// the store sends the bytes of one replica, however many there are).
#pragma once

#include "engine/base/wall_time.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct StateTimes {
    WallTime to_host;        // device to host memory, including the agreement on the step
    WallTime write;          // host to store
    WallTime planning;       // distribution of the reads
    WallTime read;           // store to one member of each data-parallel group
    WallTime broadcast;      // from that member to the others
    WallTime from_peer;      // another host's memory to the device
    double store_share = 0;  // share of the nodes' network used by writing
};

StateTimes state_times(const Scenario& scenario);

// Limited to a million days, which is longer than any campaign, so that sums of such times do not
// overflow.
WallTime bounded_time(double seconds);

}  // namespace orrery
