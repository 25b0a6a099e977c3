// SPDX-License-Identifier: Apache-2.0
// Several jobs on one cluster (scenarios/studies/simulate/simulate_jobs.h) as text, JSON and a
// report.
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/simulate/simulate_jobs.h"

namespace orrery {

std::string jobs_report(const JobsAnswer& answer);
// Seconds and bytes; docs/schema/simulate_jobs.schema.json.
std::string jobs_json(const JobsAnswer& answer);
Report jobs_sections(const JobsAnswer& answer);

}  // namespace orrery
