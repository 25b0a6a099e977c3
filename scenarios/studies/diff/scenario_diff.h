// SPDX-License-Identifier: Apache-2.0
// Differences of two scenarios, or of two results of --json: keys, figures, and the steps of both.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
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

// Whether the document is a result of --json: a JSON object with its provenance.
bool is_result(const DocumentNode& document);

// Of two results: the keys of their scenarios, and their figures.
ScenarioDiff diff_of_results(const DocumentNode& before, const DocumentNode& after);

// The keys of two scenarios as they are simulated.
ScenarioDiff diff_of_scenarios(const Scenario& before, const Scenario& after);

// Simulates the steps of both.
Result<void> add_steps(ScenarioDiff& diff,
                       const Scenario& before,
                       const Scenario& after,
                       const std::function<void(double)>& progress);

}  // namespace orrery
