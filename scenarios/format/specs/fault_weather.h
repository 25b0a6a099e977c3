// SPDX-License-Identifier: Apache-2.0
// What all components of a cluster share in the time of their faults: bursts.
#pragma once

#include "engine/faults/fault_process.h"
#include "scenarios/format/specs/campaign_plan.h"

namespace orrery {

// The intensity of a day that gives the plan's daily variance over a span on this cluster.
FaultWeather fault_weather(const FaultPlan& plan, const ClusterShape& shape, WallTime span);

}  // namespace orrery
