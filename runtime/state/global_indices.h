// SPDX-License-Identifier: Apache-2.0
// Which elements of a whole parameter a rank holds: its rank-local elements in row-major order, by
// their index in the whole tensor. Rows and columns are cut as the layout says; where the columns
// consist of parts (heads of Q, K and V; gate and up) each part is cut. Matrices of experts are
// rows of one.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

class GlobalIndices {
public:
    GlobalIndices(const Program& program, RankId rank, const Tensor& parameter);

    // Of the rank-local element `i` (not a shard of ZeRO's: those count rank-local elements).
    std::int64_t of(std::int64_t i) const {
        const auto columns = static_cast<std::int64_t>(columns_.size());
        const std::int64_t row = i / columns;
        const std::int64_t matrix = row / own_rows_;
        return (first_row_ + matrix * matrix_rows_ + row % own_rows_) * row_length_ +
               columns_[static_cast<std::size_t>(i % columns)];
    }

    // Elements from `i` on whose indices follow each other; at least one.
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
    std::int64_t matrix_rows_ = 1;           // of a whole matrix of experts; else of a row
    std::int64_t own_rows_ = 1;              // of these the rank has as many
    std::int64_t row_length_ = 0;            // of the whole parameter
    std::vector<std::int64_t> columns_;      // global column of each local one
    std::vector<std::int64_t> run_lengths_;  // columns from each on that follow each other
};

}  // namespace orrery
