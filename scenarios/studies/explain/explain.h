// SPDX-License-Identifier: Apache-2.0
// What limits a scenario and what would help: every possible change is simulated without
// contention, and the changes that gain most again on the scenario's own network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/efficiency_table.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/studies/explain/changes.h"
#include "scenarios/studies/explain/hot_experts.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct Suggestion {
    Change change;
    double gain = 0;  // more tokens/s than the scenario, 0.05: 5 %
    Time iteration;
    double mfu = 0;
    Bytes peak_memory;    // of the plan
    Bytes needed_memory;  // with driver, context and libraries: what has to fit
};

struct Explanation {
    Answer answer;  // of the scenario as it is
    Provenance provenance;
    std::int64_t tried = 0;
    std::int64_t refused = 0;    // that the model, the cluster or the batch does not admit
    std::int64_t too_large = 0;  // that do not fit in memory
    std::optional<HotExperts> hot_experts;  // of uneven loads
    std::vector<Suggestion> suggestions;    // the best first, plan before batch before hardware
};

struct ExplainOptions {
    std::vector<std::string> overrides;
    std::size_t keep = 5;    // of each kind of change
    std::uint32_t jobs = 1;  // changes at a time; 0: one a core. The answer is the same
    std::function<void(double)> progress;
    // Factors of a step with those of a calibration; nothing: the catalogue's.
    std::optional<EfficiencyTable> step_table{};
};

ResultOrErrors<Explanation> explain_scenario(const std::filesystem::path& file,
                                             const ExplainOptions& options);

}  // namespace orrery
