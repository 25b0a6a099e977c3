// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/cpu_dropout.h"

#include "engine/base/check.h"
#include "runtime/cpu/cpu_step_end.h"

namespace orrery {

cpu::DropoutArguments with_scalars(RandomKey place, ConstTensorView scalars) {
    place.seed = seed_of_run(scalars);
    place.round += device_scalar_bits(scalars, DeviceScalar::first_round);
    return {.key = place, .rate = device_scalar(scalars, DeviceScalar::dropout)};
}

cpu::DropoutArguments dropout_arguments(const BoundOp& op,
                                        const Tensor& mask,
                                        ConstTensorView scalars) {
    return with_scalars(dropout_place(op, mask), scalars);
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
