// SPDX-License-Identifier: Apache-2.0
// Positions of a rank's tokens in the whole sequence. A rank holds one contiguous piece (sequence
// parallelism, head exchange), or one early and one late piece of equal length (the balanced halves
// of the context-parallel ring, models/blocks/attention_lowering.cpp). In both cases positions grow
// with the local index, so that the keys visible to a query are one range of local indices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/check.h"

namespace orrery {

struct SequencePositions {
    std::int64_t length = 0;       // tokens of one sequence on this rank
    std::int64_t first = 0;        // position of local token 0
    std::int64_t second_half = 0;  // position of local token half(); if contiguous, first + half()

    constexpr std::int64_t half() const { return length / 2; }

    constexpr std::int64_t of(std::int64_t local) const {
        return local < half() ? first + local : second_half + local - half();
    }

    // The number of local tokens with a position < `position`.
    constexpr std::int64_t count_below(std::int64_t position) const {
        const std::int64_t early = std::clamp<std::int64_t>(position - first, 0, half());
        const std::int64_t late =
            std::clamp<std::int64_t>(position - second_half, 0, length - half());
        return early + late;
    }
    bool operator==(const SequencePositions&) const = default;
};

inline SequencePositions contiguous_positions(std::int64_t length, std::int64_t first = 0) {
    return {.length = length, .first = first, .second_half = first + length / 2};
}

// Pieces `rank` and `2 ranks - 1 - rank` of a sequence of `ranks * length` tokens cut into 2 ranks
// pieces. Every rank then has the same number of visible query-key pairs.
inline SequencePositions balanced_positions(std::int64_t length,
                                            std::int64_t rank,
                                            std::int64_t ranks) {
    ORRERY_CHECK(rank >= 0 && rank < ranks && (length % 2 == 0 || ranks == 1));
    const std::int64_t half = length / 2;
    return ranks == 1 ? contiguous_positions(length)
                      : SequencePositions{.length = length,
                                          .first = rank * half,
                                          .second_half = (2 * ranks - 1 - rank) * half};
}

}  // namespace orrery
