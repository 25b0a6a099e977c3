// SPDX-License-Identifier: Apache-2.0
// The residual stream and its norms, forward and backward, as ops on values with layouts.
#pragma once

#include "models/segments/block_builder.h"

namespace orrery {

// The residual stream with a branch output that has not been added yet: the addition is fused into
// the next norm where the plan says so.
struct ResidualStream {
    Value residual;
    Value pending;                 // empty: nothing to add
    Value mask;                    // of the dropout that the addition applies; empty without
    std::vector<TensorId> biases;  // of the branch, which the addition adds as well
};

// What the backward pass of a norm needs of its forward pass.
struct NormActivations {
    Value input;       // the residual stream after the pending addition
    Value statistics;  // of each row, fp32 (kernels/norm_call.h)
    // plan.eager_norm: the fp32 copy of the input, and the norm in 16 bits without its weight.
    Value copy{};
    Value unweighted{};
};

// Adds the pending branch to the residual; afterwards nothing is pending.
void add_pending(BlockBuilder& b, ResidualStream& stream, Lifetime lifetime);
// How long the norm's own backward pass needs its input and statistics, and others its output.
struct NormLifetimes {
    Lifetime saved;
    Lifetime output;
};
// y = norm(residual + pending). Sets `saved`.
Value norm_forward(BlockBuilder& b,
                   std::string_view name,
                   ResidualStream& stream,
                   const Parameter& weight,
                   NormLifetimes lifetimes,
                   NormActivations& saved);
// dx = norm'(dy) + dresidual (if there is one).
Value norm_backward(BlockBuilder& b,
                    std::string_view name,
                    const Value& dy,
                    const NormActivations& saved,
                    const Value& dresidual,
                    Parameter& weight);

}  // namespace orrery
