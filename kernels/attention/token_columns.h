// SPDX-License-Identifier: Apache-2.0
// The layout of queries, keys and values: neighbouring columns of matrices with one row per token,
// tokens = (sequence, batch) sequence-major. A head has head_dim columns.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct ConstTokenColumns {
    ConstTensorView tensor;
    std::int64_t width = 0;  // elements per row of `tensor`
    std::int64_t first_column = 0;
};
struct TokenColumns {
    TensorView tensor;
    std::int64_t width = 0;
    std::int64_t first_column = 0;
    operator ConstTokenColumns() const { return {tensor, width, first_column}; }  // NOLINT
};

// Parts of a packed tensor [tokens, (heads + 2 kv_heads) head_dim]: query, key, value heads.
ConstTokenColumns packed_query(const AttentionShape& shape, ConstTensorView qkv);
ConstTokenColumns packed_key(const AttentionShape& shape, ConstTensorView qkv);
ConstTokenColumns packed_value(const AttentionShape& shape, ConstTensorView qkv);
TokenColumns packed_query(const AttentionShape& shape, TensorView qkv);
TokenColumns packed_key(const AttentionShape& shape, TensorView qkv);
TokenColumns packed_value(const AttentionShape& shape, TensorView qkv);
// Parts of a block that travels around the ring: [tokens, 2 kv_heads head_dim], keys then values.
ConstTokenColumns block_key(const AttentionShape& shape, ConstTensorView block);
ConstTokenColumns block_value(const AttentionShape& shape, ConstTensorView block);
TokenColumns block_key(const AttentionShape& shape, TensorView block);
TokenColumns block_value(const AttentionShape& shape, TensorView block);
// Copies keys and values of a packed tensor into such a block, or adds a block to them; seq_kv
// tokens.
void copy_key_value(const AttentionShape& shape, ConstTensorView qkv, TensorView block);
void add_key_value(const AttentionShape& shape, ConstTensorView block, TensorView qkv);
// Joins the queries of one packed tensor with the keys and values of a block, which may have more
// or fewer columns than the tensor's.
void join_key_value(std::int64_t tokens,
                    ConstTensorView queries,
                    ConstTensorView block,
                    TensorView qkv);

}  // namespace orrery::cpu
