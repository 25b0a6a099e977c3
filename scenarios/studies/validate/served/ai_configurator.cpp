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
    return {.max_num_seqs = row.concurrency,
            .max_num_batched_tokens = row.concurrency + std::llround(row.input_tokens) + kSpare};
}

}  // namespace orrery
