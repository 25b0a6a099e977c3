// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/fault_weather.h"

namespace orrery {

FaultWeather fault_weather(const FaultPlan& plan, const ClusterShape& shape, WallTime span) {
    FaultWeather weather;
    if (plan.daily_variance > 1) {
        // A day's number of faults is then Poisson with a gamma intensity: variance/mean = 1 +
        // mean/shape.
        double daily = 0;
        for (const FaultProcess& process : plan.processes) {
            daily += process.once || process.once_step >= 0 || !process.events.empty()
                         ? 0
                         : expected_faults(process, shape, span) / span.days();
        }
        weather.burst_shape = daily / (plan.daily_variance - 1);
    }
    return weather;
}

}  // namespace orrery
