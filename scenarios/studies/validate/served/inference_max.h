// SPDX-License-Identifier: Apache-2.0
// How InferenceMAX serves a published row, as far as its results do not say: the options of the
// servers in its scripts (github.com/InferenceMAX/InferenceMAX, benchmarks/*.sh, October 2025).
#pragma once

#include <cstdint>
#include <optional>

#include "scenarios/studies/validate/served/serving_cases.h"
#include "scenarios/studies/validate/served/trtllm_bench.h"

namespace orrery {

// By the row's source.
bool is_inference_max(const ServingCase& row);

// Nothing for a model and an engine whose script is not known.
std::optional<EngineLimits> inference_max_limits(const ServingCase& row);

// Fewer new prompts than these wait for some steps of the sequences that generate.
struct PromptWait {
    std::uint16_t prompts = 1;
    std::uint16_t steps = 0;
    bool operator==(const PromptWait&) const = default;
};
std::optional<PromptWait> inference_max_prompt_wait(const ServingCase& row);

}  // namespace orrery
