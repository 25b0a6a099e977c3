// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/gradient_copies.h"

#include "kernels/cast/cast.h"
#include "models/blocks/quantised_moves.h"

namespace orrery {
namespace {

TensorId buffer_of_gradients(BlockBuilder& b,
                             const StateLayouts& state,
                             Dtype dtype,
                             std::int64_t elements) {
    return b.ops.tables().communication_buffer("gradients together", dtype, state.whole, elements);
}

}  // namespace

TensorId copied_gradients(BlockBuilder& b,
                          const StateLayouts& state,
                          const std::vector<TensorId>& gradients,
                          std::int64_t elements) {
    const auto copy = [&](const std::vector<TensorId>& from, Dtype made, Dtype copied) {
        const TensorId buffer = buffer_of_gradients(b, state, copied, elements);
        OpSpec spec = named("gradients copy in");
        spec.reads = from;
        spec.writes = {buffer};
        b.ops.kernel(cast(elements, made, copied), spec);
        return buffer;
    };
    if (b.plan.fsdp_copy_out) {
        return copy(gradients, state.weight_dtype, state.gradient_dtype);
    }
    const TensorId together = copy(gradients, state.weight_dtype, state.weight_dtype);
    return state.gradient_dtype == state.weight_dtype
               ? together
               : copy({together}, state.weight_dtype, state.gradient_dtype);
}

std::vector<TensorId> bucketed_gradients(BlockBuilder& b,
                                         const StateLayouts& state,
                                         const std::vector<Parameter*>& parameters) {
    std::vector<TensorId> reduced;
    OpSpec spec = named("gradients copy in");
    std::int64_t copied = 0;
    for (const Parameter* p : parameters) {
        const std::int64_t elements = local_elements({p->elements}, state.whole, b.layouts.mesh);
        if (elements > b.plan.reduce_bucket_size) {
            reduced.push_back(p->gradient);
            continue;
        }
        spec.reads.push_back(p->gradient);
        copied += elements;
    }
    if (copied == 0) {
        return reduced;
    }
    // One kernel stands for the copies; those of the concatenation run beside the backward pass.
    // Quantised gradients are not concatenated (all_to_all_quant_reduce).
    spec.writes = {
        b.ops.tables().gradient_bucket(state.weight_dtype, state.whole, b.plan.reduce_bucket_size)};
    if (!reduces_quantised(b, *parameters.front())) {
        spec.writes.push_back(buffer_of_gradients(b, state, state.weight_dtype, copied));
    }
    b.ops.kernel(cast(copied, state.weight_dtype, state.weight_dtype), spec);
    reduced.push_back(spec.writes.back());
    return reduced;
}

}  // namespace orrery
