// SPDX-License-Identifier: Apache-2.0
// The layout of every class of tensor under a plan. In the lowering only this file knows tensor,
// sequence, context and data parallelism. All communication is derived from these layouts.
#pragma once

#include <cstdint>

#include "engine/program/mesh.h"
#include "models/plan/layout.h"
#include "models/plan/plan.h"
#include "models/plan/state_layouts.h"

namespace orrery {

struct LayoutAssignment {
    Mesh mesh;
    std::uint32_t pipeline_digit = 0;
    std::int32_t chunks = 1;          // model chunks of each pipeline stage
    std::uint32_t context_digit = 0;  // the first one, if the axes of experts cut it into several
    std::uint32_t head_digits = 0;    // ranks that share a key-value head

    // Activations (sequence, batch, width).
    Layout residual;  // between blocks: the residual stream and its gradient
    Layout pipeline;  // as sent from stage to stage
    Layout saved;     // inputs of layers that full recomputation keeps
    Layout query;     // Q as attention reads it, and attention's output
    // K and V as attention reads them: whole heads. Ranks that share a head hold replicas of it.
    Layout key_value;
    std::int64_t ranks_of_head() const { return mesh.combined_size(head_digits); }
    Layout tokens;  // ids and labels, per token

    // Weights (input width, output width), along the other digits.
    Layout column_weight;  // QKV, first MLP product, output layer: sharded along the output
    Layout row_weight;     // attention projection, second MLP product: sharded along the input
    Layout vector_weight;  // norms and biases of row-sharded products
    Layout embedding;      // (vocabulary, hidden)

    // The state on the digits that replicate the model, in addition to the layouts above.
    StateLayouts state;

    // Rows of tokens as their experts read them, and all tokens of the ranks that share the
    // experts. The weights of experts (input width, output width, experts), and their state.
    Layout expert_rows;
    Layout expert_tokens;
    Layout expert_column_weight;
    Layout expert_row_weight;
    Layout expert_vector_weight;  // biases of row-sharded products
    StateLayouts expert_state;
    std::uint32_t expert_digits = 0;         // ranks that share the experts
    std::uint32_t expert_tensor_digits = 0;  // ranks that split each expert

    // K and V arrive block by block along a ring while attention computes.
    bool stream_key_value = false;
    // One all-gather brings K and V of the whole sequence before attention.
    bool gather_key_value = false;
};

// Parameters as for digits_of_plan().
LayoutAssignment assign_layouts(const ParallelPlan& plan,
                                std::int64_t ranks_of_head = 1,
                                RankId first_rank = RankId{});

}  // namespace orrery
