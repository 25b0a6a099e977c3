// SPDX-License-Identifier: Apache-2.0
// Several jobs on one cluster (scenarios/studies/simulate/simulate_jobs.h) as text, JSON and a
// page.
#pragma once

#include <string>

#include "scenarios/studies/simulate/simulate_jobs.h"

namespace orrery {

std::string jobs_report(const JobsAnswer& answer);
// Seconds and bytes; docs/schema/simulate_jobs.schema.json.
std::string jobs_json(const JobsAnswer& answer);
std::string jobs_page(const JobsAnswer& answer);

}  // namespace orrery
