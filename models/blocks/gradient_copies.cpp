// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/gradient_copies.h"

#include "kernels/cast/cast.h"

namespace orrery {

TensorId copied_gradients(BlockBuilder& b,
                          const StateLayouts& state,
                          const std::vector<TensorId>& gradients,
                          std::int64_t elements) {
    const auto copy = [&](const std::vector<TensorId>& from, Dtype made, Dtype copied) {
        const TensorId buffer =
            b.ops.tables().tensor({.name = "gradients together",
                                   .parameter = {},
                                   .dtype = copied,
                                   .kind = TensorKind::communication,
                                   .lifetime = Lifetime::slot,
                                   .global_shape = {},
                                   .layout = state.whole,
                                   .bytes = Bytes{elements * size_bytes(copied)}});
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

}  // namespace orrery
