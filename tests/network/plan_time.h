// SPDX-License-Identifier: Apache-2.0
// How long a plan takes when nothing else is in the network.
#pragma once

#include <vector>

#include "engine/program/network_model.h"
#include "network/fluid/fluid.h"

namespace orrery {

inline Time plan_time(const NetworkModel& network, const TransferPlan& plan) {
    Time now;
    for (const auto& phase : plan.phases) {
        FluidRates rates(network.links());
        now += phase.latency;
        for (const auto& part : phase.parts) {
            if (part.bytes > Bytes{}) {
                rates.start(now, rates.add_footprint(part.footprint), part.bytes, part.rate_max);
            }
        }
        rates.settle(now);
        std::vector<FlowId> ended;
        while (rates.next_completion() < Time::max()) {
            now = rates.next_completion();
            rates.pop_completed(now, ended);
            rates.settle(now);
        }
    }
    return now;
}

}  // namespace orrery
