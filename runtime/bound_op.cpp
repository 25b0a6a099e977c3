// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_op.h"

#include "engine/check.h"
#include "models/layout.h"

namespace orrery {

LocalShape local_shape(const Program& program, RankId rank, const Tensor& activation) {
    const std::vector<std::int64_t>& shape = activation.global_shape;
    ORRERY_CHECK(shape.size() == 3);
    const auto extent = [&](int dim) {
        return local_extent(
            shape[static_cast<std::size_t>(dim)], dim, activation.layout, program.mesh);
    };
    std::int64_t part = 0;  // which contiguous piece of the sequence this rank has
    for (std::uint32_t axis = 0; axis < activation.layout.size(); ++axis) {
        if (activation.layout[axis] == sharded(kSequence)) {
            part = part * program.mesh.size(axis) + program.mesh.coordinate(rank, axis);
        }
    }
    const std::int64_t sequence = extent(kSequence);
    return {.sequence = sequence,
            .batch = extent(kBatch),
            .width = extent(kWidth),
            .positions = contiguous_positions(sequence, part * sequence)};
}

}  // namespace orrery
