// SPDX-License-Identifier: Apache-2.0
// The stages of `orrery gpu-bench` and their outcomes.
#pragma once

#include <string>
#include <vector>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/measure/bench_stages.h"

namespace orrery {

Report stages_sections(const std::vector<StageOutcome>& outcomes);
std::string stages_json(const std::vector<StageOutcome>& outcomes);

}  // namespace orrery
