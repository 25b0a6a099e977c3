// SPDX-License-Identifier: Apache-2.0
// The input embedding of token ids: rows of a table that one rank or several have.
#pragma once

#include "models/segments/block_builder.h"

namespace orrery {

// The rows of `tokens` [tokens, hidden], in the layout of the residual stream. Ranks that have
// parts of the table add what they have.
Value embedding_rows(BlockBuilder& b, const Parameter& table, const Value& tokens);

// Adds the gradients of the rows' sum to the table's.
void embedding_row_gradients(BlockBuilder& b,
                             Parameter& table,
                             const Value& tokens,
                             const Value& gradient);

}  // namespace orrery
