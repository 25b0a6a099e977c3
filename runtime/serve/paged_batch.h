// SPDX-License-Identifier: Apache-2.0
// A step's chunks as arrays of numbers, which kernels of a paged cache read from memory
// (kernels/paged_attention/paged_attention_cuda.h). Chunks of one token come first, a row each;
// prompts follow, with a row for each token. Blocks count from 0 here: block 0 of the pool is its
// anchor and has no memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/serve/decode_step.h"

namespace orrery {

struct PagedBatch {
    struct Prompt {
        std::int64_t first_row = 0;
        std::int64_t tokens = 0;
        std::int64_t context = 0;  // computed before
        std::int64_t table = 0;    // row of `tables`
    };
    std::int64_t single_rows = 0;  // of chunks of one token
    std::int64_t rows = 0;
    std::vector<Prompt> prompts;
    std::vector<std::int32_t> tokens;     // [rows]
    std::vector<std::int32_t> positions;  // [rows]
    std::vector<std::int32_t> slots;      // [rows], tokens of the cache
    std::vector<std::int32_t> adapters;   // [rows]; -1: none
    std::vector<std::int32_t> contexts;   // [single_rows], with the row's own token
    std::vector<std::int32_t> tables;     // [chunks, table_width]
    std::vector<std::int32_t> samples;    // rows whose logits are wanted, in the chunks' order
};

// Each chunk has tokens, blocks for them and its context, and `table_width` blocks at most.
PagedBatch paged_batch(std::span<const DecodeChunk> chunks,
                       std::int64_t block_size,
                       std::int64_t table_width);

// Appends rows that compute nothing that is read: token 0, stored nowhere, without context.
void pad_rows(PagedBatch& batch, std::int64_t rows, std::int64_t table_width);

}  // namespace orrery
