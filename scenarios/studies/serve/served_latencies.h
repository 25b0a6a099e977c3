// SPDX-License-Identifier: Apache-2.0
// Latencies of requests and workflows, and the share that met its objectives. A workflow lasts from
// the arrival of its first call to the end of its last one.
#pragma once

#include <vector>

#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// By request: the end-to-end time, for a call that of its workflow. Time::max() for requests
// without an end, and if a call of the workflow was refused.
std::vector<Time> end_to_end_times(const ServingResult& result,
                                   const std::vector<Request>& requests);
// Whether the request is the last call of its workflow, or belongs to none. A workflow counts once.
bool ends_workflow(const std::vector<Request>& requests, std::size_t request);

// Fills the answer's counts, latencies and rates.
void add_latencies(const ServingResult& result,
                   const std::vector<Request>& requests,
                   const ServingObjectives& objectives,
                   ServingAnswer& answer);

// Workflows must be an open load, without objectives for single requests. Only workflows have
// deadlines.
Result<void> check_workflows(const ServingSpec& spec,
                             const std::vector<Request>& requests,
                             const ServingLoad& load);

}  // namespace orrery
