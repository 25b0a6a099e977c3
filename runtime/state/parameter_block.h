// SPDX-License-Identifier: Apache-2.0
// The elements of a whole parameter in a rank's part. A parameter is a row-major matrix, or
// matrices of experts one below the other, and a part has pieces of its rows and of its columns.
// Matrices of several parts side by side (queries, keys and values; gate and up) are cut part by
// part, so that a tensor-parallel rank has the heads that belong together.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "models/plan/layout.h"
#include "runtime/state/parameter_shards.h"

namespace orrery {

// Consecutive rows or columns of a part. `first` is the index in the whole, or -1 for padding.
struct BlockPiece {
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool operator==(const BlockPiece&) const = default;
};

struct ParameterBlock {
    std::int64_t rows = 0;  // of the whole parameter, as `columns`
    std::int64_t columns = 0;
    std::vector<BlockPiece> row_pieces;
    std::vector<BlockPiece> column_pieces;
    bool operator==(const ParameterBlock&) const = default;

    static ParameterBlock whole(std::int64_t rows, std::int64_t columns) {
        return {rows, columns, {{0, rows}}, {{0, columns}}};
    }
    std::int64_t local_elements() const;
    // Calls `run` with (index in the part, index in the whole, count) for each run of elements that
    // are consecutive in both, within `range` of the part. Padding is skipped.
    using Run = std::function<void(std::int64_t, std::int64_t, std::int64_t)>;
    void for_each_run(ElementRange range, const Run& run) const;

    // Integers: the extents, then for rows and for columns the number of pieces and each piece.
    std::string to_text() const;
    static Result<ParameterBlock> from_text(const std::string& text);
};

// The part of `weight` on `rank`.
ParameterBlock block_of_parameter(const Program& program, const Tensor& weight, RankId rank);

}  // namespace orrery
