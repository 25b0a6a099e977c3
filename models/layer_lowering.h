// SPDX-License-Identifier: Apache-2.0
// One transformer layer, forward and backward, as ops on values with layouts. What is communicated
// follows from the layouts (block_builder.h); this file knows the transformer, not the plan's
// sizes.
#pragma once

#include <functional>
#include <vector>

#include "models/norm_lowering.h"

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

// What a layer's backward pass needs of its forward pass.
struct LayerActivations {
    ResidualStream input;  // as it came in (kept under full recomputation)
    NormActivations before_norm1;
    Value norm1;
    Value qkv;
    Value exchanged_qkv;      // Q, K and V as attention reads them, after any head exchange
    Value probabilities;      // unfused attention only
    Value score_mask;         // their dropout
    Value dropped;            // probabilities after dropout
    Value last_block;         // of K and V in a ring: where the backward pass begins
    Value statistics;         // flash attention's log-sum-exp
    Value exchanged_context;  // attention's output
    Value context;            // the same as the projection reads it
    NormActivations before_norm2;
    Value norm2;
    Value fc1;
    Value activated;
    Value projection_mask;  // of the dropouts after the two branches
    Value mlp_mask;
};

// Weight-gradient work that zero-bubble schedules run later, in a segment of its own.
struct DeferredProducts {
    std::vector<Parameter*> weights;
    std::function<void(BlockBuilder&)> run;
};
using Deferred = std::vector<DeferredProducts>;

// A product y = x w on the way back, where x had to be gathered: its own gradient, dx in the layout
// of x, is the sum over all `branches` that read the same x (two in a parallel block).
struct ColumnBranch {
    std::string_view name;
    const Value* dy;
    Parameter* weight;
    Parameter* bias;
};
Value column_backward(BlockBuilder& b,
                      const Value& x,
                      const std::vector<ColumnBranch>& branches,
                      Deferred* deferred);

// Runs the layer on `stream` and leaves its output there.
LayerActivations layer_forward(BlockBuilder& b,
                               LayerParameters& p,
                               std::int64_t layer,
                               ResidualStream& stream);
// Gradient of the residual stream at the layer's input, given that at its output. With `deferred`
// the weight products are put there instead of being run.
Value layer_backward(BlockBuilder& b,
                     LayerParameters& p,
                     std::int64_t layer,
                     LayerActivations& saved,
                     const Value& dout,
                     Deferred* deferred);

// Attention proper, between the QKV product and the projection (attention_lowering.cpp).
void attention_forward_ops(BlockBuilder& b, std::int64_t layer, LayerActivations& a);
// Returns dqkv, given the gradient of `context`.
Value attention_backward_ops(BlockBuilder& b,
                             std::int64_t layer,
                             LayerActivations& a,
                             const Value& dcontext,
                             Lifetime lifetime);

}  // namespace orrery
