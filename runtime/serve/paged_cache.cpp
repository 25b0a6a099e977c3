// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/paged_cache.h"

#include <algorithm>

namespace orrery {

PagedCache::PagedCache(std::int64_t num_layers,
                       std::int64_t num_blocks,
                       std::int64_t block_size,
                       std::int64_t width)
    : num_blocks_(num_blocks),
      block_size_(block_size),
      width_(width),
      values_(static_cast<std::size_t>(num_layers * num_blocks * block_size * width)) {}

std::span<float> PagedCache::row(std::int64_t layer,
                                 std::span<const KvBlock> blocks,
                                 std::int64_t token) {
    const auto block = static_cast<std::size_t>(token / block_size_);
    ORRERY_CHECK(block < blocks.size() && blocks[block] >= 1 &&
                 static_cast<std::int64_t>(blocks[block]) <= num_blocks_);
    const std::size_t first =
        place(layer, blocks[block]) + static_cast<std::size_t>(token % block_size_ * width_);
    return std::span{values_}.subspan(first, static_cast<std::size_t>(width_));
}

ConstTensorView PagedCache::rows(std::int64_t layer,
                                 std::span<const KvBlock> blocks,
                                 std::int64_t tokens,
                                 std::vector<float>& copy) const {
    const auto used = static_cast<std::size_t>((tokens + block_size_ - 1) / block_size_);
    ORRERY_CHECK(tokens > 0 && used <= blocks.size());
    const auto size = static_cast<std::size_t>(tokens * width_);
    bool in_order = true;
    for (std::size_t i = 0; i + 1 < used; ++i) {
        in_order = in_order && blocks[i + 1] == blocks[i] + 1;
    }
    if (in_order) {
        return const_view_of(std::span{values_}.subspan(place(layer, blocks[0]), size));
    }
    copy.resize(size);
    const auto block_elements = static_cast<std::size_t>(block_size_ * width_);
    for (std::size_t i = 0; i < used; ++i) {
        const std::size_t first = i * block_elements;
        std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(place(layer, blocks[i])),
                    std::min(block_elements, size - first),
                    copy.begin() + static_cast<std::ptrdiff_t>(first));
    }
    return const_view_of(copy);
}

}  // namespace orrery
