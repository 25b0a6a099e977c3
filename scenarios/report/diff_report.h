// SPDX-License-Identifier: Apache-2.0
// Differences of two scenarios or two results, as a report and as JSON.
#pragma once

#include <string>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/diff/scenario_diff.h"

namespace orrery {

Report diff_sections(const ScenarioDiff& diff);
// {"before", "after", "keys": [{"key", "before", "after"}], "figures": [… "change"], "step":
// {"iteration_s": {"before", "after", "change"}, …, "lost_s": {CAUSE: …}}}; without `step` if
// nothing was simulated.
std::string diff_json(const ScenarioDiff& diff);

}  // namespace orrery
