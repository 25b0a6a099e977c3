// SPDX-License-Identifier: Apache-2.0
// What outlives a program in a simulated world: the time, the events that lie ahead, and the rates
// of what moves over the network.
#pragma once

#include "engine/program/network_model.h"
#include "engine/world/event_queue.h"

namespace orrery {

struct SimulationClock {
    explicit SimulationClock(SharedRates& rates_of_network) : rates(rates_of_network) {}

    EventQueue queue{};
    SharedRates& rates;
    bool rates_changed = false;   // at this instant; they are settled before time moves on
    Time instant{};               // the one that is being or was last worked on
    std::int64_t num_events = 0;  // of the queue, so far
};

}  // namespace orrery
