// SPDX-License-Identifier: Apache-2.0
// Attention of a server's step on a GPU, over keys and values in the blocks of a paged cache (Kwon
// et al., PagedAttention, SOSP 2023). A row is a token of the step. The cache of a layer is
// [blocks, block_size, 2 kv_heads head_dim]: a token's keys, then its values. Activations and the
// cache have one type, fp32 or bf16; numbers of rows, slots and blocks are int32 on the device, so
// that a captured step reads those of the batch that is replayed.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/tensor_view.h"

namespace orrery::device {

inline constexpr std::int64_t kPagedHeadMax = 256;

struct PagedShape {
    std::int64_t rows = 0;
    std::int64_t heads = 0;  // on this rank
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;  // even
    std::int64_t block_size = 16;
    std::int64_t table_width = 0;  // blocks of the longest context
    std::int64_t window = 0;       // tokens that a row sees, its own among them; 0: all

    constexpr std::int64_t packed_width() const { return (heads + 2 * kv_heads) * head_dim; }
    constexpr std::int64_t cache_width() const { return 2 * kv_heads * head_dim; }
};

// Why these kernels do not take the shape; empty if they do.
inline std::string_view why_not_paged(const PagedShape& shape) {
    return shape.head_dim <= kPagedHeadMax && shape.head_dim % 2 == 0
               ? ""
               : "paged attention on a GPU takes even head sizes up to 256";
}

// qkv [rows, packed_width]: query heads, key heads, value heads.
struct PagedStore {
    TensorView qkv;
    ConstTensorView positions;        // int32 [rows], in the row's sequence
    ConstTensorView slots;            // int32 [rows], tokens of the cache; -1: not stored
    TensorView cache;                 // of the layer
    std::optional<double> rope_base;  // of rotary embeddings; none: keys are stored as they are
};

// Turns queries and keys by their positions (kernels/rope/rope_cpu.h), in place, and stores keys
// and values.
template <class Queue>
void rotate_and_store(Queue& queue, const PagedShape& shape, const PagedStore& operands);

struct PagedAttention {
    ConstTensorView qkv;
    ConstTensorView cache;     // of the layer
    ConstTensorView contexts;  // int32 [rows], tokens of the row's sequence up to its own; 0: none
    ConstTensorView tables;    // int32 [rows, table_width], blocks of the cache
    TensorView output;         // [rows, heads head_dim]; zeros for a row without context
};

// Scratch memory that paged_attention() asks its queue for.
inline constexpr std::int64_t kPartitionKeys = 512;
constexpr std::int64_t paged_partitions(const PagedShape& shape) {
    const std::int64_t keys = shape.table_width * shape.block_size;
    return keys > kPartitionKeys ? (keys + kPartitionKeys - 1) / kPartitionKeys : 1;
}
constexpr std::int64_t paged_scratch_bytes(const PagedShape& shape) {
    const std::int64_t partitions = paged_partitions(shape);
    return partitions == 1 ? 0 : shape.rows * shape.heads * partitions * (shape.head_dim + 2) * 4;
}

// Each row against its own context. The bits of a row do not depend on the other rows.
template <class Queue>
void paged_attention(Queue& queue, const PagedShape& shape, const PagedAttention& operands);

// Rows of the cache in the order of a sequence's tokens, for kernels that want them in a row.
struct ContextGather {
    ConstTensorView cache;  // of the layer
    ConstTensorView table;  // int32 [table_width], of the sequence
    TensorView rows;        // [tokens, cache_width]
};
template <class Queue>
void gather_context(Queue& queue, const PagedShape& shape, const ContextGather& operands);

}  // namespace orrery::device
