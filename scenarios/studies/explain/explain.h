// SPDX-License-Identifier: Apache-2.0
// The limits of a scenario, and changes that would help. Every possible change is simulated without
// contention, and the best ones again on the scenario's network.
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
    double gain = 0;  // additional tokens/s relative to the scenario; 0.05 is 5 %
    Time iteration;
    double mfu = 0;
    Bytes peak_memory;    // of the plan
    Bytes needed_memory;  // includes driver, context and libraries
};

struct Explanation {
    Answer answer;  // of the unchanged scenario
    Provenance provenance;
    std::int64_t tried = 0;
    std::int64_t refused = 0;    // changes that the model, the cluster or the batch does not allow
    std::int64_t too_large = 0;  // changes that do not fit in memory
    std::optional<HotExperts> hot_experts;  // with uneven loads
    std::vector<Suggestion> suggestions;    // best first; plan before batch before hardware
};

struct ExplainOptions {
    std::vector<std::string> overrides;
    std::size_t keep = 5;  // of each kind of change
    // Changes at the same time; 0: one a core. The answer does not depend on it
    std::uint32_t jobs = 1;
    std::function<void(double)> progress;
    // Factors of a step with those of a calibration; empty: the catalogue's.
    std::optional<EfficiencyTable> step_table{};
};

ResultOrErrors<Explanation> explain_scenario(const std::filesystem::path& file,
                                             const ExplainOptions& options);

}  // namespace orrery
