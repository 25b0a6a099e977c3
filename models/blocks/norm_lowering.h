// SPDX-License-Identifier: Apache-2.0
// Forward and backward ops of the residual stream and its norms.
#pragma once

#include "models/segments/block_builder.h"

namespace orrery {

// The residual stream, and a branch output that still has to be added. If the plan fuses norms, the
// next norm includes the addition.
struct ResidualStream {
    Value residual;
    Value pending;  // branch output to add; empty: none
    Value mask;     // of the branch's dropout, which the addition applies; empty: none
    std::vector<TensorId> biases;  // of the branch, which the addition adds, too
};

// The operands of a norm's backward pass from its forward pass.
struct NormActivations {
    Value input;       // the residual stream after the pending addition
    Value statistics;  // of each row, fp32 (kernels/norm_call.h)
    // plan.eager_norm: the fp32 copy of the input, and the norm in 16 bits before its weight.
    Value copy{};
    Value unweighted{};
};

// Adds the pending branch to the residual. Then nothing is pending.
void add_pending(BlockBuilder& b, ResidualStream& stream, Lifetime lifetime);
// Lifetimes of the operands of the norm's own backward pass (`saved`), and of its output.
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
// dx = norm'(dy), plus dresidual if that is not empty.
Value norm_backward(BlockBuilder& b,
                    std::string_view name,
                    const Value& dy,
                    const NormActivations& saved,
                    const Value& dresidual,
                    Parameter& weight);

}  // namespace orrery
