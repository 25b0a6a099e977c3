// SPDX-License-Identifier: Apache-2.0
// Which pipeline stage holds how many layers. The virtual stages c * stages + s (chunk c of stage
// s) hold consecutive layers: the same number each, or what plan.pipeline_layout says. With
// plan.embedding_and_loss_as_layers the embedding and the output layer take one layer's place on
// the first and on the last virtual stage (Llama 3.1 405B: 126 layers on 128 places).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// Why the layers can't be split so; empty if they can.
Errors check_pipeline_split(const Transformer& model, const ParallelPlan& plan);

// Layers by virtual stage, chunk-major: entry c * stages + s. Asserts that the plan has a split.
std::vector<std::int64_t> layers_of_stages(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
