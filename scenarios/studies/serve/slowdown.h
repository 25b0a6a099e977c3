// SPDX-License-Identifier: Apache-2.0
// Slowdowns of requests: latencies over those of an idle instance, and the check of their
// objectives (Patel et al., Splitwise, ISCA 2024, section V). The time between tokens is the mean
// of a request's, as in Splitwise's simulator (splitwise-sim, scheduler.py: tbt_times).
#pragma once

#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// Serves the requests one after the other on one instance of the first pool, which also generates.
// An Error if its cache does not fit on its GPUs.
Result<ServingResult> serve_alone(const Scenario& scenario,
                                  const ServingSpec& spec,
                                  const std::vector<Request>& requests);

// Ratios, over the requests that ended in both results. Both results are of the same requests.
ServingAnswer::Slowdowns slowdowns_of(const ServingResult& served, const ServingResult& alone);

// Whether no ratio is above its objective.
bool meets(const ServingAnswer::Slowdowns& slowdowns, const ServingObjectives& objectives);

}  // namespace orrery
