// SPDX-License-Identifier: Apache-2.0
// How long requests and workflows took, and which of them met their objectives. A workflow takes
// from the arrival of its first call to the end of its last one.
#pragma once

#include <vector>

#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// By request: end to end, of a call that of its workflow. Time::max() where a call of the workflow
// was refused, and for a request without an end.
std::vector<Time> end_to_end_times(const ServingResult& result,
                                   const std::vector<Request>& requests);
// Whether the request is the last call of its workflow, which counts once, or of none.
bool ends_workflow(const std::vector<Request>& requests, std::size_t request);

// Fills the answer's counts, latencies and rates.
void add_latencies(const ServingResult& result,
                   const std::vector<Request>& requests,
                   const ServingObjectives& objectives,
                   ServingAnswer& answer);

// Workflows come in an open load, without objectives that a request alone would set; only workflows
// have deadlines.
Result<void> check_workflows(const ServingSpec& spec,
                             const std::vector<Request>& requests,
                             const ServingLoad& load);

}  // namespace orrery
