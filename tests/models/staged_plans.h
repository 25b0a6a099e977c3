// SPDX-License-Identifier: Apache-2.0
// A model and plans whose stages have tensor-parallel sizes of their own.
#pragma once

#include <algorithm>
#include <vector>

#include "models/plan/plan.h"
#include "tests/models/known_models.h"

namespace orrery {

inline ParallelPlan staged_plan(std::vector<std::int64_t> sizes, std::int64_t dp = 1) {
    ParallelPlan plan;
    plan.pipeline_model_parallel_size = std::ssize(sizes);
    plan.tensor_model_parallel_size = std::ranges::max(sizes);
    plan.stage_tensor_model_parallel_sizes = std::move(sizes);
    plan.data_parallel_size = dp;
    plan.sequence_parallel = true;
    plan.global_batch_size = 4 * dp;
    return plan;
}

inline Transformer untied_model() {
    Transformer model = gpt2_124m();
    model.tied_embeddings = false;
    model.num_attention_heads = model.num_query_groups = 16;
    model.kv_channels = 48;
    model.vocab_size = 50304;
    return model;
}

}  // namespace orrery
