// SPDX-License-Identifier: Apache-2.0
// The part of a whole activation (sequence, batch, width) that a rank holds: some positions of
// every sequence, and some columns. It gives elements their index in the whole activation, which is
// the key of dropout's random numbers.
#pragma once

#include <cstdint>

#include "kernels/sequence_positions.h"

namespace orrery {

struct ValueShard {
    SequencePositions sequence;
    std::int64_t batch = 1;
    std::int64_t width = 0;         // columns on this rank
    std::int64_t first_column = 0;  // its first column in the whole
    std::int64_t global_width = 0;  // 0: width

    constexpr std::int64_t tokens() const { return sequence.length * batch; }
    constexpr std::int64_t size() const { return tokens() * width; }
    // Index in the whole activation of the first element of local row `token` (token = s * batch +
    // b).
    constexpr std::int64_t row_start(std::int64_t token) const {
        const std::int64_t row = sequence.of(token / batch) * batch + token % batch;
        return row * (global_width > 0 ? global_width : width) + first_column;
    }
};

}  // namespace orrery
