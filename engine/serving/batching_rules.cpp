// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/batching_rules.h"

#include <algorithm>
#include <array>

namespace orrery {

namespace {

// vLLM v0 keeps 1 % of the blocks free at an admission (BlockSpaceManager's watermark). Sarathi's
// implementation in Vidur does the same.
constexpr double kWatermark = 0.01;

constexpr std::array<BatchingRules, 8> kRules{{
    // vLLM v1 looks a preempted request up in the prefix cache like a new one
    // (vllm/v1/core/kv_cache_manager.py: get_computed_blocks). vLLM v0 has no prefix cache by
    // default.
    {.name = "vllm_v1", .preempted_blocks = PreemptedBlocks::all},
    {.name = "vllm_v0", .mixes_phases = false, .chunks_prompts = false, .watermark = kWatermark},
    {.name = "sarathi",
     .decodes_first = true,
     .reservation = Reservation::prompt,
     .watermark = kWatermark},
    {.name = "orca", .chunks_prompts = false, .reservation = Reservation::longest},
    {.name = "tensorrt_llm", .decodes_first = true, .reservation = Reservation::longest},
    {.name = "tensorrt_llm_max_utilization", .decodes_first = true},
    // SGLang's tree keeps the cached prompt of a retracted request
    // (srt/managers/schedule_batch.py).
    {.name = "sglang", .mixes_phases = false, .preempted_blocks = PreemptedBlocks::prompt},
    {.name = "static",
     .mixes_phases = false,
     .chunks_prompts = false,
     .only_when_empty = true,
     .reservation = Reservation::longest},
}};

}  // namespace

std::span<const BatchingRules> batching_rules() {
    return kRules;
}

const BatchingRules* find_batching_rules(std::string_view name) {
    const auto row = std::find_if(kRules.begin(), kRules.end(), [&](const BatchingRules& rules) {
        return rules.name == name;
    });
    return row == kRules.end() ? nullptr : &*row;
}

}  // namespace orrery
