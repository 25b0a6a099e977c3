// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/cpu_dropout.h"

#include <bit>

#include "engine/check.h"
#include "models/layout.h"
#include "runtime/cpu/cpu_step_end.h"
#include "runtime/state/redistribute.h"

namespace orrery {
namespace {

std::uint32_t scalar_bits(ConstTensorView block, DeviceScalar scalar) {
    return std::bit_cast<std::uint32_t>(device_scalar(block, scalar));
}

}  // namespace

cpu::DropoutArguments dropout_arguments(const BoundOp& op,
                                        const Tensor& mask,
                                        ConstTensorView scalars) {
    ORRERY_CHECK(mask.random_purpose >= 0 && op.micro_batch >= 0);
    // Data-parallel ranks take turns: micro-batch m of rank d is number m ranks + d.
    const std::int64_t batch = mask.global_shape[kBatch];
    const DimensionRange own = local_range(batch, kBatch, mask.layout, op.program.mesh, op.rank);
    const std::int64_t number = op.micro_batch * (batch / own.count) + own.first / own.count;
    const std::uint64_t high = scalar_bits(scalars, DeviceScalar::seed_high);
    return {.key = {.seed = high << 32 | scalar_bits(scalars, DeviceScalar::seed_low),
                    .purpose = static_cast<RandomPurpose>(mask.random_purpose),
                    .stream = static_cast<std::uint32_t>(mask.random_stream),
                    .round = scalar_bits(scalars, DeviceScalar::first_round) +
                             static_cast<std::uint32_t>(number)},
            .rate = device_scalar(scalars, DeviceScalar::dropout)};
}

ValueShard value_shard(const BoundOp& op, const BoundOperand& activation) {
    const Tensor& tensor = *activation.tensor;
    const std::int64_t width = tensor.global_shape[kWidth];
    const LocalShape local = op.shape_of(activation);
    return {
        .sequence = local.positions,
        .batch = local.batch,
        .width = local.width,
        .first_column = local_range(width, kWidth, tensor.layout, op.program.mesh, op.rank).first,
        .global_width = width};
}

void apply_dropout_mask(ConstTensorView mask,
                        ConstTensorView scalars,
                        ConstTensorView dy,
                        TensorView dx) {
    ORRERY_CHECK(mask.dtype == Dtype::uint8 && mask.size == dy.size);
    const float scale = 1.0f / (1.0f - device_scalar(scalars, DeviceScalar::dropout));
    for (std::int64_t i = 0; i < dy.size; ++i) {
        store(dx, i, mask.data[i] == std::byte{0} ? 0.0f : scale * load(dy, i));
    }
}

// reads residual branch [bias …] scalars, writes sum mask.
void run_bias_dropout_add(const BoundOp& op) {
    const ConstTensorView scalars = op.reads.back().view;
    const BoundOperand& mask = op.writes[1];
    std::vector<float> bias(static_cast<std::size_t>(op.call.dims[1]), 0.0f);
    for (std::size_t r = 2; r + 1 < op.reads.size(); ++r) {
        for (std::size_t i = 0; i < bias.size(); ++i) {
            bias[i] += load(op.reads[r].view, static_cast<std::int64_t>(i));
        }
    }
    cpu::bias_dropout_add(value_shard(op, mask),
                          dropout_arguments(op, *mask.tensor, scalars),
                          {.branch = op.reads[1].view,
                           .bias = view_of(std::span{bias}),
                           .residual = op.reads[0].view,
                           .sum = op.writes[0].view,
                           .mask = mask.view});
}

// Forward: reads scalars, writes mask, in place. Backward: reads dy mask scalars, writes dx.
void run_dropout(const BoundOp& op) {
    if (op.accumulates.empty()) {
        apply_dropout_mask(op.reads[1].view, op.reads[2].view, op.reads[0].view, op.writes[0].view);
        return;
    }
    const BoundOperand& mask = op.writes[0];
    const TensorView x = op.accumulates[0].view;
    cpu::dropout_forward(value_shard(op, mask),
                         dropout_arguments(op, *mask.tensor, op.reads[0].view),
                         x,
                         x,
                         mask.view);
}

}  // namespace orrery
