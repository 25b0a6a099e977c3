// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_op.h"

#include "engine/check.h"
#include "models/layout.h"
#include "runtime/redistribute.h"

namespace orrery {

LocalShape local_shape(const Program& program, RankId rank, const Tensor& activation) {
    const std::vector<std::int64_t>& shape = activation.global_shape;
    ORRERY_CHECK(shape.size() == 3);
    const auto extent = [&](int dim) {
        return local_extent(
            shape[static_cast<std::size_t>(dim)], dim, activation.layout, program.mesh);
    };
    const DimensionRange sequence =
        local_range(shape[kSequence], kSequence, activation.layout, program.mesh, rank);
    return {.sequence = sequence.count,
            .batch = extent(kBatch),
            .width = extent(kWidth),
            .positions = contiguous_positions(sequence.count, sequence.first)};
}

}  // namespace orrery
