// SPDX-License-Identifier: Apache-2.0
// How InferenceMAX serves rows with separate pools for prompts and generation: NVIDIA Dynamo before
// TensorRT-LLM or SGLang, with the options of a recipe that the published results do not name.
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/result.h"
#include "scenarios/format/specs/serving_spec.h"
#include "scenarios/studies/validate/served/serving_cases.h"

namespace orrery {

// The largest number of sequences of one decode instance, from a table like
// catalogue/published/inference_max_pools.csv; 0: the table has no recipe of the row.
Result<std::int64_t> inference_max_decode_sequences(const ServingCase& row,
                                                    const std::filesystem::path& table);

// Sets limits and routers of the two pools of such a row. Other rows keep theirs.
Result<void> set_inference_max_pools(const ServingCase& row,
                                     const std::filesystem::path& table,
                                     ServingSpec& spec);

}  // namespace orrery
