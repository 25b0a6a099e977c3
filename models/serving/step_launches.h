// SPDX-License-Identifier: Apache-2.0
// The launches of a serving step (models/serving/serving_step.h) by the host.
#pragma once

#include <cstdint>

#include "models/serving/serving_plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct StepLaunches {
    std::int64_t all;  // kernels and collectives of a step that generates
    // If graphs hold all but attention: a graph before, between and after the layers' attention,
    // whose kernels write the cache, too.
    std::int64_t of_pieces;
    // The further kernels of a step with prompts and sequences that generate: latent attention has
    // other kernels for the two (vLLM, v1/attention/backends/mla/common.py: _forward_prefill and
    // _forward_decode; TensorRT-LLM, _torch/modules/attention.py: forward_context and
    // forward_generation).
    std::int64_t of_mixed;
};

StepLaunches step_launches(const Transformer& model, const ServingPlan& plan, std::int64_t stage);

}  // namespace orrery
