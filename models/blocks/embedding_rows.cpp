// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/embedding_rows.h"

#include <string>

#include "kernels/embedding/embedding.h"

namespace orrery {

Value embedding_rows(BlockBuilder& b,
                     std::string_view name,
                     const Parameter& table,
                     const Value& tokens,
                     Lifetime lifetime) {
    Layout layout = b.layouts.tokens;
    for (std::size_t digit = 0; digit < layout.size(); ++digit) {
        if (table.layout[digit] == sharded(kInput)) {
            layout[digit] = partial();  // each rank has only its rows of the table
        }
    }
    const Value rows = b.value(name, b.model.hidden_size, layout, Lifetime::slot);
    b.kernel(name,
             embedding_forward(
                 b.local_tokens(rows), b.model.hidden_size, b.local_input(table), rows.dtype),
             Cause::memory_bound_kernels,
             {&tokens},
             {&rows},
             {table.weight});
    return b.relayout(std::string{name} + " reduce", rows, b.layouts.residual, lifetime);
}

void embedding_row_gradients(BlockBuilder& b,
                             std::string_view name,
                             Parameter& table,
                             const Value& tokens,
                             const Value& gradient) {
    const Layout& all = b.layouts.tokens;
    const Value rows = b.relayout(std::string{name} + " gradient gather", gradient, all);
    table.gradient_layout = weight_gradient(all, all);
    const std::string text = std::string{name} + " backward";
    const KernelCall call = embedding_backward(
        b.local_tokens(rows), b.model.hidden_size, b.local_input(table), rows.dtype);
    OpSpec spec{.name = text,
                .stream = kComputeStream,
                .cause = Cause::memory_bound_kernels,
                .reads = {tokens.tensor, rows.tensor},
                .writes = {},
                .accumulates = {}};
    if (!b.plan.dense_embedding_gradient) {
        spec.accumulates = {table.gradient};
        b.ops.kernel(call, spec);
        return;
    }
    // aten/src/ATen/native/cuda/Embedding.cu: at::zeros of the table, then the sums of its rows, in
    // the type of the rows. With autocast that is fp32, as the table is.
    const Dtype dtype = b.plan.autocast ? Dtype::fp32 : rows.dtype;
    const TensorId made = b.made_gradient(text, table, dtype);
    spec.writes = {made};
    b.ops.kernel(call, spec);
    b.framework_ops(text + " zero", made, b.elements_of_gradient(table) * size_bytes(dtype));
    b.add_made_gradient(text, made, table, dtype);
}

}  // namespace orrery
