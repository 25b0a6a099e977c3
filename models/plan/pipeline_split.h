// SPDX-License-Identifier: Apache-2.0
// The split of layers over pipeline stages. The virtual stages c * stages + s (chunk c of stage s)
// hold consecutive layers, the same number each or the numbers of plan.pipeline_layout. With
// plan.embedding_and_loss_as_layers the embedding and the output layer take one layer's place on
// the first and on the last virtual stage (Llama 3.1 405B: 126 layers on 128 places).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The reasons that prevent this split of the layers; empty if it is possible.
Errors check_pipeline_split(const Transformer& model, const ParallelPlan& plan);

// The number of layers by virtual stage, chunk-major: entry c * stages + s. Asserts that the plan
// has a split.
std::vector<std::int64_t> layers_of_stages(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
