// SPDX-License-Identifier: Apache-2.0
// Work on a rank's tokens, tile by tile. The intermediate results need the memory of one tile
// (Bekman et al., Arctic Long Sequence Training, arXiv 2506.13996, section 3.1). The weights of
// such work are not split over ranks, so nothing is communicated.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/segments/block_builder.h"

namespace orrery {

class TokenTiles {
public:
    // Equal tiles of at most `tokens` of the rank's tokens of `whole`; 0: one tile.
    TokenTiles(BlockBuilder& b, const Value& whole, std::int64_t tokens);

    std::int64_t count() const { return count_; }
    // A buffer that all tiles use in turn.
    Value buffer(std::string_view name, std::int64_t width, Dtype dtype, TensorKind kind) const;
    // The part of `whole` that a tile's op reads or writes: the tokens of one tile.
    Value part_of(Value whole) const;

    // y = x w for tile `tile`, or y = x w^T with `back`. x and y are parts of whole values
    // (part_of()) or buffers.
    void product(std::string_view name,
                 std::int64_t tile,
                 const Value& x,
                 const Parameter& w,
                 const Value& y,
                 bool back) const;
    // A kernel for tile `tile`.
    void kernel(std::string_view name,
                std::int64_t tile,
                const KernelCall& call,
                Cause cause,
                const std::vector<const Value*>& reads,
                const std::vector<const Value*>& writes,
                const std::vector<TensorId>& others = {},
                const std::vector<TensorId>& accumulates = {}) const;

private:
    OpSpec spec_of_tile(std::string_view name, std::int64_t tile, Cause cause) const;
    void add(OpSpec& spec, const Value& v, bool writes) const;

    BlockBuilder& b_;
    std::int64_t count_ = 1;
    std::int64_t sequence_ = 0;  // of a tile, on all ranks together
    std::vector<std::int64_t> shape_;
    Layout layout_;
};

}  // namespace orrery
