// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/global_indices.h"

#include "engine/base/check.h"
#include "runtime/state/redistribute.h"

namespace orrery {

GlobalIndices::GlobalIndices(const Program& program, RankId rank, const Tensor& parameter)
    : row_length_(parameter.global_shape.back()) {
    const std::vector<std::int64_t>& shape = parameter.global_shape;
    ORRERY_CHECK(shape.size() == 2 || shape.size() == 3);
    const int columns = static_cast<int>(shape.size()) - 1;
    const auto range = [&](std::int64_t extent, int dim) {
        return local_range(extent, dim, parameter.layout, program.mesh_of(rank), rank);
    };
    first_row_ = range(shape[0], kInput).first;
    if (shape.size() == 3) {  // one matrix after the other
        const DimensionRange own = range(shape[1], 1);
        matrix_rows_ = shape[1];
        own_rows_ = own.count;
        first_row_ = first_row_ * matrix_rows_ + own.first;
    }
    std::vector<std::int64_t> parts = parameter.column_parts;
    if (parts.empty()) {
        parts = {row_length_};
    }
    std::int64_t first = 0;
    for (const std::int64_t part : parts) {
        const DimensionRange own = range(part, columns);
        for (std::int64_t c = 0; c < own.count; ++c) {
            columns_.push_back(first + own.first + c);
        }
        first += part;
    }
    ORRERY_CHECK(first == row_length_);
    run_lengths_.assign(columns_.size(), 1);
    for (std::size_t c = columns_.size(); c-- > 1;) {
        if (columns_[c - 1] + 1 == columns_[c]) {
            run_lengths_[c - 1] = run_lengths_[c] + 1;
        }
    }
}

}  // namespace orrery
