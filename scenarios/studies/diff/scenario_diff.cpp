// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diff/scenario_diff.h"

#include <string_view>
#include <utility>

#include "scenarios/format/provenance/stored_result.h"
#include "scenarios/studies/diff/shown_scenario.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// Keys of a result that describe its computation.
std::vector<std::string_view> keys_of_no_answer() {
    return {"provenance",
            "version",
            "wall_s",
            "peak_rss_bytes",
            "simulated_ops",
            "fold_classes",
            "flows",
            "distinct_paths",
            "rate_solves"};
}

DocumentNode effective_of(const DocumentNode& result) {
    const auto stored = stored_provenance(result);
    return stored ? stored->origin.effective : DocumentNode{};
}

bool has_one_step(const Scenario& scenario) {
    return scenario.jobs.empty() &&
           (scenario.document == nullptr || scenario.document->find("model") != nullptr ||
            scenario.document->find("plan") != nullptr);
}

}  // namespace

bool is_result(const DocumentNode& document) {
    return document.is_map() && document.find("provenance") != nullptr;
}

ScenarioDiff diff_of_results(const DocumentNode& before, const DocumentNode& after) {
    ScenarioDiff diff;
    diff.keys = differences(effective_of(before), effective_of(after));
    diff.figures = differences(before, after, keys_of_no_answer());
    return diff;
}

ScenarioDiff diff_of_scenarios(const Scenario& before, const Scenario& after) {
    ScenarioDiff diff;
    diff.keys = differences(shown_scenario(before), shown_scenario(after));
    return diff;
}

Result<void> add_steps(ScenarioDiff& diff,
                       const Scenario& before,
                       const Scenario& after,
                       const std::function<void(double)>& progress) {
    if (!has_one_step(before) || !has_one_step(after)) {
        return fail("--run", "compares the steps of two jobs", "scenarios with a model and a plan");
    }
    for (const Scenario* scenario : {&before, &after}) {
        Result<Answer> answer = simulate_scenario(*scenario, {});
        if (!answer) {
            return unexpected<Error>(answer.error());
        }
        diff.steps.push_back(std::move(*answer));
        progress(0.5 * static_cast<double>(diff.steps.size()));
    }
    return {};
}

}  // namespace orrery
