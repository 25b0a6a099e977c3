// SPDX-License-Identifier: Apache-2.0
// A transformer layer as a tape of nodes (models/blocks/tape.h). This file knows the transformer
// but not the plan's sizes: communication follows from the layouts (block_builder.h).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/blocks/tape.h"
#include "models/plan/recomputation.h"

namespace orrery {

// The persistent state of a router in addition to its weights, with plan.moe_fused_kernels.
struct RouterState {
    // fp32: the number of tokens that chose each expert in a step, then the number that it took.
    TensorId load{};
    std::optional<TensorId> bias{};  // fp32, added to the scores for the choice of experts
};

struct LayerParameters {
    std::optional<RouterState> router_state{};
    Parameter norm1;
    Parameter qkv;
    Parameter qkv_bias;
    Parameter projection;
    Parameter projection_bias;
    Parameter norm2;  // absent in a parallel block
    Parameter fc1;    // gate and up side by side if gated
    Parameter fc1_bias;
    Parameter fc2;
    Parameter fc2_bias;
    // Transformer::sandwich_norm
    Parameter attention_output_norm;
    Parameter mlp_output_norm;

    // Norms of each head of queries and keys.
    Parameter query_norm;
    Parameter key_norm;
    // Latent attention has these instead of qkv. Queries without a latent vector have only
    // query_up.
    Parameter query_down;
    Parameter query_latent_norm;
    Parameter query_up;
    Parameter key_value_down;
    Parameter key_value_latent_norm;
    Parameter key_value_up;
    // A layer with experts has these instead of fc1 and fc2.
    Parameter router;
    Parameter router_bias;
    Parameter expert_fc1;
    Parameter expert_fc1_bias;
    Parameter expert_fc2;
    Parameter expert_fc2_bias;
    Parameter shared_fc1;
    Parameter shared_fc1_bias;
    Parameter shared_fc2;
    Parameter shared_fc2_bias;

    // The parameters that exist in this layer, in forward order.
    std::vector<Parameter*> present();
};

// The tape points to `parameters`, which must not move while the tape is in use.
Tape layer_tape(const Transformer& model,
                const ParallelPlan& plan,
                const LayerRecompute& recompute,
                LayerParameters& parameters,
                std::int64_t layer);

// Adds attention between the QKV product and the projection (attention_lowering.cpp), and returns
// the edge of its output in the projection's layout. `before` gets the nodes before the attention
// kernels. `makers` are nodes that make qkv and run again before the backward pass reads it.
Edge& add_attention(Tape& tape,
                    const LayerRecompute& recompute,
                    std::int64_t layer,
                    Edge& qkv,
                    std::vector<Node*>& before,
                    std::vector<Node*> makers = {});

}  // namespace orrery
