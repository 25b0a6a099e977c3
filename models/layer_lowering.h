// SPDX-License-Identifier: Apache-2.0
// A transformer layer as a tape of nodes (models/tape.h). What is communicated follows from the
// layouts (block_builder.h); this file knows the transformer, not the plan's sizes.
#pragma once

#include <string_view>
#include <vector>

#include "models/recomputation.h"
#include "models/tape.h"

namespace orrery {

struct LayerParameters {
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

    // Those that the model has, in forward order.
    std::vector<Parameter*> present();
};

// The parameters must stay where they are as long as the tape is used.
Tape layer_tape(const Transformer& model,
                const LayerRecompute& recompute,
                LayerParameters& parameters,
                std::int64_t layer);

// Adds attention proper, between the QKV product and the projection (attention_lowering.cpp).
// Returns the edge of its output as the projection reads it; `before` gets the nodes that stand
// before the kernels.
Edge& add_attention(Tape& tape,
                    const LayerRecompute& recompute,
                    std::int64_t layer,
                    Edge& qkv,
                    std::vector<Node*>& before);

}  // namespace orrery
