// SPDX-License-Identifier: Apache-2.0
// The place of a rank's shard in the whole parameter: some rows and some columns of each, in up to
// three ranges (of Q, K and V; of gate and up). Its indices are the keys of the random numbers for
// stochastic rounding.
#pragma once

#include <cstdint>

namespace orrery {

struct ParameterPlace {
    static constexpr int kRanges = 3;

    std::int64_t first_element = 0;  // of the shard, in the rank's part
    std::int32_t width = 0;  // columns of the part; 0: its elements are contiguous in the whole
    std::int32_t row_length = 0;  // columns of the whole
    std::int32_t first_row = 0;
    // Range r has columns begin[r] ... begin[r + 1] - 1 of the part, which start at column first[r]
    // of the whole.
    std::int32_t begin[kRanges + 1] = {};
    std::int32_t first[kRanges] = {};

    // The index in the whole parameter of element `i` of the shard.
    constexpr std::int64_t of(std::int64_t i) const {
        const std::int64_t local = first_element + i;
        if (width == 0) {
            return local;
        }
        const std::int64_t row = local / width;
        const auto column = static_cast<std::int32_t>(local - row * width);
        const int range = column < begin[1] ? 0 : column < begin[2] ? 1 : 2;
        return (first_row + row) * row_length + first[range] + (column - begin[range]);
    }
    // The number of elements, from `i` on, that are contiguous in the whole.
    constexpr std::int64_t run(std::int64_t i) const {
        if (width == 0) {
            return std::int64_t{1} << 62;
        }
        const auto column = static_cast<std::int32_t>((first_element + i) % width);
        const int range = column < begin[1] ? 0 : column < begin[2] ? 1 : 2;
        return begin[range + 1] - column;
    }
    bool operator==(const ParameterPlace&) const = default;
};

}  // namespace orrery
