// SPDX-License-Identifier: Apache-2.0
// Keys and values of sequences in the blocks of a BlockPool (Kwon et al., PagedAttention, SOSP
// 2023). The row of a token in a layer has its keys, then its values, in fp32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/serving/block_pool.h"
#include "kernels/tensor_view.h"

namespace orrery {

class PagedCache {
public:
    // `width` is the number of elements of a token's row. Memory is `num_layers * num_blocks *
    // block_size * width` floats; block 0 is unused in the pool and has no memory.
    PagedCache(std::int64_t num_layers,
               std::int64_t num_blocks,
               std::int64_t block_size,
               std::int64_t width);

    std::int64_t width() const { return width_; }
    // The row of a token of the sequence with these blocks.
    std::span<float> row(std::int64_t layer, std::span<const KvBlock> blocks, std::int64_t token);
    // The rows of the first `tokens` tokens, contiguous. Contiguous blocks are used in place;
    // others are copied to `copy`.
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
