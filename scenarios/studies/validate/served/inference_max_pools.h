// SPDX-License-Identifier: Apache-2.0
// How InferenceMAX serves rows with separate pools for prompts and generation: NVIDIA Dynamo before
// TensorRT-LLM or SGLang, with the options of a recipe that the published results do not name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "engine/base/result.h"
#include "scenarios/format/specs/serving_spec.h"
#include "scenarios/studies/validate/served/serving_cases.h"

namespace orrery {

// A recipe's options.
struct InferenceMaxRecipe {
    std::int64_t decode_sequences = 0;  // of one decode instance, at most
    // Whether each rank of a prefill instance has prompts of its own.
    bool attention_dp = false;
    std::int64_t prompts = 0;  // in a step of one rank of a prefill instance, at most
    std::int64_t tokens = 0;
};

// The row's recipe, from a table like catalogue/published/inference_max_pools.csv. No value: the
// table has none.
Result<std::optional<InferenceMaxRecipe>> inference_max_recipe(const ServingCase& row,
                                                               const std::filesystem::path& table);

// Sets limits, prefill ranks and routers of the two pools of such a row. Other rows keep theirs.
Result<void> set_inference_max_pools(const ServingCase& row,
                                     const std::filesystem::path& table,
                                     ServingSpec& spec);

}  // namespace orrery
