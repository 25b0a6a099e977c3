// SPDX-License-Identifier: Apache-2.0
// A transformer layer as a tape of nodes (models/blocks/tape.h). What is communicated follows from
// the layouts (block_builder.h); this file knows the transformer, not the plan's sizes.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/blocks/tape.h"
#include "models/plan/recomputation.h"

namespace orrery {

// What persists of a router beside its weights, with plan.moe_fused_kernels.
struct RouterState {
    // fp32: tokens that chose each expert in a step, then the tokens that it took.
    TensorId load{};
    std::optional<TensorId> bias{};  // fp32, by which experts are chosen
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

    // Norms of the heads of queries and keys.
    Parameter query_norm;
    Parameter key_norm;
    // Latent attention, instead of qkv; queries without a latent vector have query_up alone.
    Parameter query_down;
    Parameter query_latent_norm;
    Parameter query_up;
    Parameter key_value_down;
    Parameter key_value_latent_norm;
    Parameter key_value_up;
    // A layer with experts, instead of fc1 and fc2.
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

    // The parameters that the model has, in forward order.
    std::vector<Parameter*> present();
};

// The parameters must stay where they are as long as the tape is used.
Tape layer_tape(const Transformer& model,
                const ParallelPlan& plan,
                const LayerRecompute& recompute,
                LayerParameters& parameters,
                std::int64_t layer);

// Adds attention proper, between the QKV product and the projection (attention_lowering.cpp).
// Returns the edge of its output as the projection reads it; `before` gets the nodes that stand
// before the kernels. `makers`: nodes that make qkv and run again before it is read on the way
// back.
Edge& add_attention(Tape& tape,
                    const LayerRecompute& recompute,
                    std::int64_t layer,
                    Edge& qkv,
                    std::vector<Node*>& before,
                    std::vector<Node*> makers = {});

}  // namespace orrery
