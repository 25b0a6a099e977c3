// SPDX-License-Identifier: Apache-2.0
// The part of a simulated world that outlives a program: the time, the pending events, and the
// rates of the network's flows.
#pragma once

#include "engine/program/network_model.h"
#include "engine/world/event_queue.h"

namespace orrery {

struct SimulationClock {
    explicit SimulationClock(SharedRates& rates_of_network) : rates(rates_of_network) {}

    EventQueue queue{};
    SharedRates& rates;
    bool rates_changed = false;   // at this instant; settled before time moves on
    Time instant{};               // the current or last processed instant
    std::int64_t num_events = 0;  // popped from the queue so far
};

}  // namespace orrery
