// SPDX-License-Identifier: Apache-2.0
// The elements of a whole parameter that a rank holds: the index in the whole tensor of each
// rank-local element in row-major order. Rows and columns are cut by the layout. If the columns
// consist of parts (heads of Q, K and V; gate and up), each part is cut. Matrices of experts are
// stored as rows of one matrix.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

class GlobalIndices {
public:
    GlobalIndices(const Program& program, RankId rank, const Tensor& parameter);

    // The index of rank-local element `i` (not of a shard of ZeRO, whose elements count rank-local
    // ones).
    std::int64_t of(std::int64_t i) const {
        const auto columns = static_cast<std::int64_t>(columns_.size());
        const std::int64_t row = i / columns;
        const std::int64_t matrix = row / own_rows_;
        return (first_row_ + matrix * matrix_rows_ + row % own_rows_) * row_length_ +
               columns_[static_cast<std::size_t>(i % columns)];
    }

    // The number of elements, from `i` on, with consecutive indices; at least one.
    std::int64_t consecutive(std::int64_t i) const {
        const auto columns = static_cast<std::int64_t>(columns_.size());
        if (columns != row_length_) {
            return run_lengths_[static_cast<std::size_t>(i % columns)];
        }
        return own_rows_ == matrix_rows_ ? std::numeric_limits<std::int64_t>::max()
                                         : own_rows_ * columns - i % (own_rows_ * columns);
    }

private:
    std::int64_t first_row_ = 0;
    std::int64_t matrix_rows_ = 1;       // of a whole matrix of experts; otherwise 1
    std::int64_t own_rows_ = 1;          // the rank's part of matrix_rows_
    std::int64_t row_length_ = 0;        // of the whole parameter
    std::vector<std::int64_t> columns_;  // by local column: its global column
    // By local column: number of consecutive columns from it on
    std::vector<std::int64_t> run_lengths_;
};

}  // namespace orrery
