// SPDX-License-Identifier: Apache-2.0
// Keys and values of sequences in the blocks that a BlockPool hands out (Kwon et al.,
// PagedAttention, SOSP 2023). A token's row of a layer is its keys, then its values, in fp32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/serving/block_pool.h"
#include "kernels/tensor_view.h"

namespace orrery {

class PagedCache {
public:
    // `width`: elements of a token's row. Memory is `num_layers * num_blocks * block_size * width`
    // floats; block 0 is the pool's anchor and has none.
    PagedCache(std::int64_t num_layers,
               std::int64_t num_blocks,
               std::int64_t block_size,
               std::int64_t width);

    std::int64_t width() const { return width_; }
    // The row of a token of the sequence that has these blocks.
    std::span<float> row(std::int64_t layer, std::span<const KvBlock> blocks, std::int64_t token);
    // Rows of the first `tokens` tokens, one after the other. Blocks that follow each other in
    // memory are read in place; others are copied to `copy`.
    ConstTensorView rows(std::int64_t layer,
                         std::span<const KvBlock> blocks,
                         std::int64_t tokens,
                         std::vector<float>& copy) const;

private:
    std::size_t place(std::int64_t layer, KvBlock block) const {
        return static_cast<std::size_t>(
            (layer * num_blocks_ + static_cast<std::int64_t>(block) - 1) * block_size_ * width_);
    }

    std::int64_t num_blocks_;
    std::int64_t block_size_;
    std::int64_t width_;
    std::vector<float> values_;
};

}  // namespace orrery
