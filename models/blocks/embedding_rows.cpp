// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/embedding_rows.h"

#include "kernels/embedding/embedding.h"

namespace orrery {

Value embedding_rows(BlockBuilder& b, const Parameter& table, const Value& tokens) {
    Layout layout = b.layouts.tokens;
    for (std::size_t digit = 0; digit < layout.size(); ++digit) {
        if (table.layout[digit] == sharded(kInput)) {
            layout[digit] = partial();  // each rank has only its rows of the table
        }
    }
    const Value rows = b.value("embedding", b.model.hidden_size, layout, Lifetime::slot);
    b.kernel("embedding",
             embedding_forward(
                 b.local_tokens(rows), b.model.hidden_size, b.local_input(table), rows.dtype),
             Cause::memory_bound_kernels,
             {&tokens},
             {&rows},
             {table.weight});
    return b.relayout("embedding reduce", rows, b.layouts.residual, Lifetime::micro_batch);
}

void embedding_row_gradients(BlockBuilder& b,
                             Parameter& table,
                             const Value& tokens,
                             const Value& gradient) {
    const Layout& all = b.layouts.tokens;
    const Value rows = b.relayout("embedding gradient gather", gradient, all);
    table.gradient_layout = weight_gradient(all, all);
    b.kernel("embedding backward",
             embedding_backward(
                 b.local_tokens(rows), b.model.hidden_size, b.local_input(table), rows.dtype),
             Cause::memory_bound_kernels,
             {&tokens, &rows},
             {},
             {},
             {table.gradient});
}

}  // namespace orrery
