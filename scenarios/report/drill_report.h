// SPDX-License-Identifier: Apache-2.0
// The stops of a supervised run beside what a simulated campaign predicts for the same faults
// under the same policies: the step reached, the step resumed from, the steps lost and the actions
// must be equal; how long it took to see them and to train again is listed.
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
