// SPDX-License-Identifier: Apache-2.0
// The input embedding of token ids: rows of a table that one rank or several have.
#pragma once

#include <string_view>

#include "models/segments/block_builder.h"

namespace orrery {

// The rows of `tokens` [tokens, hidden], in the layout of the residual stream. Ranks that have
// parts of the table add what they have. `name` begins the names of the ops.
Value embedding_rows(BlockBuilder& b,
                     std::string_view name,
                     const Parameter& table,
                     const Value& tokens,
                     Lifetime lifetime);

// Adds the gradients of the rows' sum to the table's: row by row, or in a gradient of the whole
// table (plan.dense_embedding_gradient).
void embedding_row_gradients(BlockBuilder& b,
                             std::string_view name,
                             Parameter& table,
                             const Value& tokens,
                             const Value& gradient);

}  // namespace orrery
