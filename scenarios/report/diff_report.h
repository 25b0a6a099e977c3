// SPDX-License-Identifier: Apache-2.0
// How two scenarios or two results differ, as a report and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/report/report.h"
#include "scenarios/studies/diff/difference.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct ScenarioDiff {
    std::string before;  // the files
    std::string after;
    std::vector<Difference> keys;     // of the scenarios as they are simulated
    std::vector<Difference> figures;  // of two results
    std::vector<Answer> steps;        // simulated: none, or both
};

// Keys of a result that say how it was computed, not what came out.
std::vector<std::string_view> keys_of_no_answer();

Report diff_sections(const ScenarioDiff& diff);
// {"before", "after", "keys": [{"key", "before", "after"}], "figures": [… "change"], "step":
// {"iteration_s": {"before", "after", "change"}, …, "lost_s": {CAUSE: …}}}; without `step` if
// nothing was simulated.
std::string diff_json(const ScenarioDiff& diff);

}  // namespace orrery
