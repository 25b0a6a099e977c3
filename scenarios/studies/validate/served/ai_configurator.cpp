// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/ai_configurator.h"

#include <cmath>

#include "scenarios/studies/validate/served/inference_max.h"

namespace orrery {

bool is_ai_configurator(const ServingCase& row) {
    return row.source.find("AIConfigurator") != std::string::npos && !is_inference_max(row) &&
           row.load == "closed" && row.mode == "aggregated";
}

EngineLimits ai_configurator_limits(const ServingCase& row) {
    constexpr std::int64_t kSpare = 1500;
    const std::int64_t prompt = std::llround(row.input_tokens);
    if (row.engine.starts_with("sglang")) {
        // max_prefill_tokens cuts no prompt (srt/managers/schedule_policy.py: add_one_req), and
        // steps with prompts have no tokens of users.
        return {.max_num_seqs = row.concurrency,
                .max_num_batched_tokens = (prompt + kSpare) / prompt * prompt};
    }
    return {.max_num_seqs = row.concurrency,
            .max_num_batched_tokens = row.concurrency + prompt + kSpare};
}

bool leaves_prompts_whole(const ServingCase& row) {
    const bool server =
        row.load == "closed" || row.load == "poisson" || row.engine.starts_with("trtllm serve");
    return server && (row.mode == "aggregated" || is_inference_max(row)) &&
           row.engine.starts_with("trtllm") && row.engine.find("mlperf") == std::string::npos;
}

}  // namespace orrery
