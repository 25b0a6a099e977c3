// SPDX-License-Identifier: Apache-2.0
// Work on a rank's tokens tile by tile: what lies between the ops of a tile takes the memory of a
// tile (Bekman et al., Arctic Long Sequence Training, arXiv 2506.13996, section 3.1). No rank
// shares the weights of such work, so nothing moves.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/segments/block_builder.h"

namespace orrery {

class TokenTiles {
public:
    // Equal tiles of at most `tokens` of the tokens that a rank has of `whole`; 0: one of all.
    TokenTiles(BlockBuilder& b, const Value& whole, std::int64_t tokens);

    std::int64_t count() const { return count_; }
    // A buffer that each tile in turn uses.
    Value buffer(std::string_view name, std::int64_t width, Dtype dtype, TensorKind kind) const;
    // `whole` with the tokens of a tile: what a tile's op reads or writes of it.
    Value part_of(Value whole) const;

    // y = x w of tile `tile`, or y = x w^T with `back`. x and y are parts of whole values or
    // buffers.
    void product(std::string_view name,
                 std::int64_t tile,
                 const Value& x,
                 const Parameter& w,
                 const Value& y,
                 bool back) const;
    // A kernel of tile `tile`.
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
    std::int64_t sequence_ = 0;  // of a tile, all ranks together
    std::vector<std::int64_t> shape_;
    Layout layout_;
};

}  // namespace orrery
