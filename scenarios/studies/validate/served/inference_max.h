// SPDX-License-Identifier: Apache-2.0
// Settings with which InferenceMAX serves a published row, where its results do not state them:
// server options in its scripts (github.com/InferenceMAX/InferenceMAX, benchmarks/*.sh, October
// 2025).
#pragma once

#include <cstdint>
#include <optional>

#include "scenarios/studies/validate/served/serving_cases.h"
#include "scenarios/studies/validate/served/trtllm_bench.h"

namespace orrery {

// Decides by the row's source.
bool is_inference_max(const ServingCase& row);

// Nothing if no script of the model and the engine is known.
std::optional<EngineLimits> inference_max_limits(const ServingCase& row);

// New prompts wait until there are `prompts` of them, for at most `steps` steps of the generating
// sequences.
struct PromptWait {
    std::uint16_t prompts = 1;
    std::uint16_t steps = 0;
    bool operator==(const PromptWait&) const = default;
};
std::optional<PromptWait> inference_max_prompt_wait(const ServingCase& row);

}  // namespace orrery
