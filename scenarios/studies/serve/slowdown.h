// SPDX-License-Identifier: Apache-2.0
// How much longer requests take than alone: latencies over those of an idle instance, and whether
// the objectives allow them (Patel et al., Splitwise, ISCA 2024, section V).
#pragma once

#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// One request after the other on a single instance of the first pool, which also generates. An
// Error if its cache does not fit on its GPUs.
Result<ServingResult> serve_alone(const Scenario& scenario,
                                  const ServingSpec& spec,
                                  const std::vector<Request>& requests);

// Ratios without a unit, over the requests that ended in both; both served the same requests.
ServingAnswer::Slowdowns slowdowns_of(const ServingResult& served, const ServingResult& alone);

// No ratio is above its objective.
bool meets(const ServingAnswer::Slowdowns& slowdowns, const ServingObjectives& objectives);

}  // namespace orrery
