// SPDX-License-Identifier: Apache-2.0
// Which layout every class of tensor has under a plan. This is the only place of the lowering that
// knows what tensor, sequence, context and data parallelism are: everything else derives its
// communication from the layouts that stand here.
#pragma once

#include <cstdint>

#include "engine/mesh.h"
#include "models/layout.h"
#include "models/plan.h"

namespace orrery {

struct LayoutAssignment {
    Mesh mesh;
    std::uint32_t pipeline_axis = 0;
    std::int32_t chunks = 1;  // model chunks of each pipeline stage
    std::uint32_t context_axis = 0;

    // Activations (sequence, batch, width).
    Layout residual;  // between blocks: the residual stream and its gradient
    Layout pipeline;  // as sent from stage to stage
    Layout query;     // Q as attention reads it, and attention's output
    // K and V as attention reads them: whole heads. Ranks that share one are replicas of it.
    Layout key_value;
    std::int64_t ranks_of_head = 1;
    Layout tokens;  // ids and labels, per token

    // Weights (input width, output width), without the data axes.
    Layout column_weight;  // QKV, first MLP product, output layer: sharded along the output
    Layout row_weight;     // attention projection, second MLP product: sharded along the input
    Layout vector_weight;  // norms and biases of row-sharded products
    Layout embedding;      // (vocabulary, hidden)

    // How the axes that replicate the model hold its persistent state: whole or a shard each.
    std::uint32_t data_axes = 0;   // reduced over: gradients are partial sums along these
    std::uint32_t shard_axes = 0;  // the part of them that sharding spreads over
    Placement weights = Placement::replicate;
    Placement gradients = Placement::replicate;
    Placement optimizer = Placement::replicate;

    // K and V arrive as a ring of blocks while attention works (instead of one all-gather).
    bool stream_key_value = false;

    std::int64_t shard_ranks() const;  // ranks that one persistent tensor is spread over
    std::int64_t axes_size(std::uint32_t axes) const;
};

LayoutAssignment assign_layouts(const ParallelPlan& plan, std::int64_t ranks_of_head = 1);

}  // namespace orrery
