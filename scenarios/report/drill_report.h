// SPDX-License-Identifier: Apache-2.0
// Compares the stops of a supervised run with those of a simulated campaign with the same faults
// and policies. The step reached, the step resumed from, the lost steps and the actions must be
// equal. The times of detection and of restart are listed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/supervisor/supervisor.h"
#include "scenarios/studies/campaign/supervised_job.h"

namespace orrery {

std::string drill_report(const Scenario& scenario,
                         const SupervisedRun& run,
                         const std::vector<Incident>& measured,
                         const std::vector<Incident>& predicted,
                         const std::map<std::int64_t, double>& detection_s = {});

}  // namespace orrery
