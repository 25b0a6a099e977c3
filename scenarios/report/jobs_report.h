// SPDX-License-Identifier: Apache-2.0
// Several jobs on one cluster (scenarios/studies/simulate/simulate_jobs.h) as JSON and a report.
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/simulate/simulate_jobs.h"

namespace orrery {

// Seconds and bytes; docs/schema/simulate_jobs.schema.json.
std::string jobs_json(const JobsAnswer& answer);
Report jobs_sections(const JobsAnswer& answer);

}  // namespace orrery
