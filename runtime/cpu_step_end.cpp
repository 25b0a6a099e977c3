// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu_step_end.h"

#include <cmath>

#include "engine/check.h"
#include "kernels/optimizer/optimizer_cpu.h"
#include "runtime/kernel_shapes.h"

namespace orrery {
namespace {

// The step number is what the bias corrections were made for; the kernels want it as an integer.
cpu::OptimizerArguments optimizer_arguments(ConstTensorView scalars) {
    const auto scalar = [&](DeviceScalar s) { return device_scalar(scalars, s); };
    return {.learning_rate = scalar(DeviceScalar::learning_rate),
            .beta1 = scalar(DeviceScalar::beta1),
            .beta2 = scalar(DeviceScalar::beta2),
            .epsilon = scalar(DeviceScalar::epsilon),
            .weight_decay = scalar(DeviceScalar::weight_decay),
            .step = std::llround(scalar(DeviceScalar::step))};
}

}  // namespace

float device_scalar(ConstTensorView block, DeviceScalar scalar) {
    return load(block, static_cast<std::int64_t>(scalar));
}

void run_gradient_accumulate(const BoundOp& op) {
    cpu::gradient_accumulate(op.reads[0].view, op.accumulates[0].view);
}

void run_gradient_norm(const BoundOp& op) {
    double sum = 0;
    for (const BoundOperand& gradient : op.reads) {
        sum += cpu::squared_norm(gradient.view);
    }
    store(op.writes[0].view, 0, static_cast<float>(sum));
}

void run_gradient_scale(const BoundOp& op) {
    const double squared = static_cast<double>(load(op.reads[0].view, 0));
    const float largest = device_scalar(op.reads[1].view, DeviceScalar::clip_norm);
    const float factor = cpu::clip_factor(std::sqrt(squared), static_cast<double>(largest));
    if (factor == 1.0f) {
        return;
    }
    for (const BoundOperand& gradient : op.accumulates) {
        cpu::gradient_scale(gradient.view, factor);
    }
}

void run_adamw(const BoundOp& op) {
    const cpu::OptimizerArguments arguments = optimizer_arguments(op.reads.back().view);
    const std::int64_t elements = op.call.dims[0];
    const TensorView state = op.accumulates[0].view;
    const bool has_master = op.call.dtype != Dtype::fp32;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < op.writes.size(); ++i) {
        const BoundOperand& weight = op.writes[i];
        const std::int64_t size = weight.view.size;
        const auto part = [&](std::int64_t section) {
            return slice(state, section * elements + first, size);
        };
        cpu::OptimizerArguments own = arguments;
        own.weight_decay = is_vector(*weight.tensor) ? 0.0f : arguments.weight_decay;
        cpu::adamw(own,
                   {.gradient = op.reads[i].view,
                    .m = part(0),
                    .v = part(1),
                    .master = has_master ? part(2) : TensorView{},
                    .parameter = weight.view});
        first += size;
    }
    ORRERY_CHECK(first <= elements);  // shards may be padded
}

}  // namespace orrery
