// SPDX-License-Identifier: Apache-2.0
// Bursts of faults: an intensity that all components of a cluster share.
#pragma once

#include "engine/faults/fault_process.h"
#include "scenarios/format/specs/campaign_plan.h"

namespace orrery {

// The daily intensity that results in the plan's daily variance over a span on this cluster.
FaultWeather fault_weather(const FaultPlan& plan, const ClusterShape& shape, WallTime span);

}  // namespace orrery
