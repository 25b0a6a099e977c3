// SPDX-License-Identifier: Apache-2.0
// Which elements of a whole parameter a rank's part of it has, where a parameter is a row-major
// matrix, or matrices of experts one below the other, and a part takes pieces of its rows and of
// its columns. Matrices that hold several parts side by side (queries, keys and values; gate and
// up) are cut part by part, so that a tensor-parallel rank has the heads that belong together.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "models/plan/layout.h"
#include "runtime/state/parameter_shards.h"

namespace orrery {

// Consecutive rows or columns of a part: `first` in the whole, or -1 for padding.
struct BlockPiece {
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool operator==(const BlockPiece&) const = default;
};

struct ParameterBlock {
    std::int64_t rows = 0;  // of the whole parameter
    std::int64_t columns = 0;
    std::vector<BlockPiece> row_pieces;
    std::vector<BlockPiece> column_pieces;
    bool operator==(const ParameterBlock&) const = default;

    static ParameterBlock whole(std::int64_t rows, std::int64_t columns) {
        return {rows, columns, {{0, rows}}, {{0, columns}}};
    }
    std::int64_t local_elements() const;
    // Consecutive elements of the part that are consecutive in the whole, within `range` of the
    // part; padding is left out. Called with (in the part, in the whole, how many).
    using Run = std::function<void(std::int64_t, std::int64_t, std::int64_t)>;
    void for_each_run(ElementRange range, const Run& run) const;

    // Numbers: the extents, then for rows and columns the number of pieces and each piece.
    std::string to_text() const;
    static Result<ParameterBlock> from_text(const std::string& text);
};

// The part of `weight` that `rank` has.
ParameterBlock block_of_parameter(const Program& program, const Tensor& weight, RankId rank);

}  // namespace orrery
