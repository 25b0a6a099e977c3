// SPDX-License-Identifier: Apache-2.0
#include "runtime/dropout_operands.h"

#include "engine/base/check.h"
#include "models/plan/layout.h"
#include "runtime/state/redistribute.h"

namespace orrery {

RandomKey dropout_place(const BoundOp& op, const Tensor& mask) {
    ORRERY_CHECK(mask.random_purpose >= 0 && op.micro_batch >= 0);
    // Data-parallel ranks alternate: micro-batch m of rank d has number m * ranks + d.
    const std::int64_t batch = mask.global_shape[kBatch];
    const DimensionRange own =
        local_range(batch, kBatch, mask.layout, op.program.mesh_of(op.rank), op.rank);
    const std::int64_t number = op.micro_batch * (batch / own.count) + own.first / own.count;
    return {.purpose = static_cast<RandomPurpose>(mask.random_purpose),
            .stream = static_cast<std::uint32_t>(mask.random_stream),
            .round = static_cast<std::uint32_t>(number)};
}

ValueShard value_shard(const BoundOp& op, const BoundOperand& activation) {
    const Tensor& tensor = *activation.tensor;
    const std::int64_t width = tensor.global_shape[kWidth];
    const LocalShape local = op.shape_of(activation);
    return {
        .sequence = local.positions,
        .batch = local.batch,
        .width = local.width,
        .first_column =
            local_range(width, kWidth, tensor.layout, op.program.mesh_of(op.rank), op.rank).first,
        .global_width = width};
}

}  // namespace orrery
