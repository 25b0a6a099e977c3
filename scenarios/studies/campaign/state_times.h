// SPDX-License-Identifier: Apache-2.0
// What moving the state of a training takes: to host memory, to the store, and back from it, where
// one copy for each data-parallel group is read and then broadcast (MegaScale, NSDI 2024, section
// 4.4: the store serves as much as one replica has, however many there are).
#pragma once

#include "engine/base/wall_time.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct StateTimes {
    WallTime to_host;        // device to host memory, and all agree that it is the same step
    WallTime write;          // host to store
    WallTime planning;       // who reads what
    WallTime read;           // store to one member of each data-parallel group
    WallTime broadcast;      // from it to the others
    WallTime from_peer;      // another host's memory to the device
    double store_share = 0;  // of the nodes' network that writing takes
};

StateTimes state_times(const Scenario& scenario);

// A million days at most, which is longer than any campaign: sums of such times stay on the clock.
WallTime bounded_time(double seconds);

}  // namespace orrery
