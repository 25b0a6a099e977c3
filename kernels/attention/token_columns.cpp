// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/token_columns.h"

#include <cstring>
#include <vector>

#include "engine/base/check.h"
#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

std::int64_t query_width(const AttentionShape& s) {
    return s.heads * s.head_dim;
}
std::int64_t key_width(const AttentionShape& s) {
    return s.kv_heads * s.head_dim;
}
std::int64_t packed_width(const AttentionShape& s) {
    return query_width(s) + 2 * key_width(s);
}

}  // namespace

ConstTokenColumns packed_query(const AttentionShape& shape, ConstTensorView qkv) {
    return {qkv, packed_width(shape), 0};
}
ConstTokenColumns packed_key(const AttentionShape& shape, ConstTensorView qkv) {
    return {qkv, packed_width(shape), query_width(shape)};
}
ConstTokenColumns packed_value(const AttentionShape& shape, ConstTensorView qkv) {
    return {qkv, packed_width(shape), query_width(shape) + key_width(shape)};
}
TokenColumns packed_query(const AttentionShape& shape, TensorView qkv) {
    return {qkv, packed_width(shape), 0};
}
TokenColumns packed_key(const AttentionShape& shape, TensorView qkv) {
    return {qkv, packed_width(shape), query_width(shape)};
}
TokenColumns packed_value(const AttentionShape& shape, TensorView qkv) {
    return {qkv, packed_width(shape), query_width(shape) + key_width(shape)};
}
ConstTokenColumns block_key(const AttentionShape& shape, ConstTensorView block) {
    return {block, 2 * key_width(shape), 0};
}
ConstTokenColumns block_value(const AttentionShape& shape, ConstTensorView block) {
    return {block, 2 * key_width(shape), key_width(shape)};
}
TokenColumns block_key(const AttentionShape& shape, TensorView block) {
    return {block, 2 * key_width(shape), 0};
}
TokenColumns block_value(const AttentionShape& shape, TensorView block) {
    return {block, 2 * key_width(shape), key_width(shape)};
}

void copy_key_value(const AttentionShape& shape, ConstTensorView qkv, TensorView block) {
    std::vector<float> row(static_cast<std::size_t>(2 * key_width(shape)));
    for (std::int64_t token = 0; token < shape.seq_kv * shape.batch; ++token) {
        load_row(qkv, token * packed_width(shape) + query_width(shape), row);
        store_row(block, token * 2 * key_width(shape), row);
    }
}

void add_key_value(const AttentionShape& shape, ConstTensorView block, TensorView qkv) {
    std::vector<float> row(static_cast<std::size_t>(2 * key_width(shape)));
    std::vector<float> total(row.size());
    for (std::int64_t token = 0; token < shape.seq_kv * shape.batch; ++token) {
        const std::int64_t first = token * packed_width(shape) + query_width(shape);
        load_row(block, token * 2 * key_width(shape), row);
        load_row(qkv, first, total);
        add_to(total, row);
        store_row(qkv, first, total);
    }
}

void join_key_value(std::int64_t tokens,
                    ConstTensorView queries,
                    ConstTensorView block,
                    TensorView qkv) {
    ORRERY_CHECK(queries.dtype == qkv.dtype && block.dtype == qkv.dtype);
    const std::int64_t element = size_bytes(qkv.dtype);
    const std::int64_t width = qkv.size / tokens * element;
    const std::int64_t keys = block.size / tokens * element;
    const std::int64_t source = queries.size / tokens * element;
    ORRERY_CHECK(width >= keys && source >= width - keys);
    for (std::int64_t token = 0; token < tokens; ++token) {
        std::byte* row = qkv.data + token * width;
        std::memcpy(row, queries.data + token * source, static_cast<std::size_t>(width - keys));
        std::memcpy(row + width - keys, block.data + token * keys, static_cast<std::size_t>(keys));
    }
}

}  // namespace orrery::cpu
