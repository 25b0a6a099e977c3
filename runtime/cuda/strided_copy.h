// SPDX-License-Identifier: Apache-2.0
// Copies between row-major blocks of a tensor in the form of device copies: rows of equal length at
// equal distances, one call each (cudaMemcpy2DAsync).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/state/redistribute.h"

namespace orrery {

// `rows` rows of `width` elements. Offsets and distances are in elements.
struct StridedCopy {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t width = 0;
    std::int64_t rows = 1;
    std::int64_t from_pitch = 0;
    std::int64_t to_pitch = 0;
    bool operator==(const StridedCopy&) const = default;
};

// A rank's part of a tensor: by dimension, in global indices.
using LocalBlock = std::vector<DimensionRange>;
LocalBlock common_block(const LocalBlock& a, const LocalBlock& b);
std::int64_t elements_of(const LocalBlock& block);

// The same for each column part of the last dimension (or for the only one): the rank's range in
// indices of that part, and the block of memory that contains it.
struct HeldPart {
    LocalBlock range;
    LocalBlock memory;
};
std::vector<HeldPart> held_parts(const Redistribution& r, const Layout& layout, RankId rank);

// The copies of `part` from one block to another. Both must contain it.
std::vector<StridedCopy> strided_copies(const LocalBlock& part,
                                        const LocalBlock& from,
                                        const LocalBlock& to);

}  // namespace orrery
