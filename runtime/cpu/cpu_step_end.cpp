// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/cpu_step_end.h"

#include <bit>
#include <cmath>
#include <span>

#include "engine/base/check.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/optimizer/optimizer_cpu.h"
#include "runtime/kernel_shapes.h"
#include "runtime/parameter_rounding.h"

namespace orrery {
namespace {

// The scalar has the step as a float; the kernels need an integer for the bias corrections.
cpu::OptimizerArguments optimizer_arguments(ConstTensorView scalars) {
    const auto scalar = [&](DeviceScalar s) { return device_scalar(scalars, s); };
    return {.learning_rate = scalar(DeviceScalar::learning_rate),
            .beta1 = scalar(DeviceScalar::beta1),
            .beta2 = scalar(DeviceScalar::beta2),
            .epsilon = scalar(DeviceScalar::epsilon),
            .weight_decay = scalar(DeviceScalar::weight_decay),
            .step = std::llround(scalar(DeviceScalar::step)),
            .rounding = {.seed = seed_of_run(scalars),
                         .purpose = RandomPurpose::stochastic_rounding,
                         .round = static_cast<std::uint32_t>(scalar(DeviceScalar::step))}};
}

}  // namespace

float device_scalar(ConstTensorView block, DeviceScalar scalar) {
    return load(block, static_cast<std::int64_t>(scalar));
}

std::uint32_t device_scalar_bits(ConstTensorView block, DeviceScalar scalar) {
    return std::bit_cast<std::uint32_t>(device_scalar(block, scalar));
}

std::uint64_t seed_of_run(ConstTensorView block) {
    const std::uint64_t high = device_scalar_bits(block, DeviceScalar::seed_high);
    return high << 32 | device_scalar_bits(block, DeviceScalar::seed_low);
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

namespace {

// Calls work(i, arguments, tensors) for each tensor of an optimizer kernel. `state` has the moments
// and masters of all tensors.
template <class Work>
void for_tensors(const BoundOp& op,
                 std::span<const BoundOperand> gradients,
                 std::span<const BoundOperand> weights,
                 TensorView scalars,
                 TensorView state,
                 const Work& work) {
    const cpu::OptimizerArguments arguments = optimizer_arguments(scalars);
    const std::int64_t elements = op.call.dims[0];
    std::int64_t first = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const BoundOperand& weight = weights[i];
        const std::int64_t size = weight.view.size;
        const auto part = [&](std::int64_t section) {
            return slice(state, section * elements + first, size);
        };
        cpu::OptimizerArguments own = arguments;
        own.weight_decay = is_vector(*weight.tensor) ? 0.0f : arguments.weight_decay;
        own.stochastic_rounding = rounds_stochastically(weight);
        own.rounding.stream = rounding_stream(weight);
        own.place = parameter_place(op, weight);
        work(i,
             own,
             cpu::OptimizerTensors{.gradient = gradients[i].view,
                                   .m = part(0),
                                   .v = part(1),
                                   .master = has_master(op.call) ? part(2) : TensorView{},
                                   .parameter = weight.view});
        first += size;
    }
    ORRERY_CHECK(first <= elements);  // shards may be padded
}

}  // namespace

// reads gradient … scalars, writes weight …, accumulates state.
void run_adamw(const BoundOp& op) {
    for_tensors(op,
                op.reads,
                op.writes,
                op.reads.back().view,
                op.accumulates[0].view,
                [](std::size_t, const auto& arguments, const auto& tensors) {
                    cpu::adamw(arguments, tensors);
                });
}

// reads weight … scalars, writes norms, accumulates gradient … (becomes the update) state.
void run_lamb_update(const BoundOp& op) {
    const TensorView norms = op.writes[0].view;
    const std::span weights = std::span{op.reads}.first(op.reads.size() - 1);
    for_tensors(op,
                op.accumulates,
                weights,
                op.reads.back().view,
                op.accumulates.back().view,
                [&](std::size_t i, const auto& arguments, const auto& tensors) {
                    const cpu::LambNorms own =
                        cpu::lamb_update(arguments, tensors, op.accumulates[i].view);
                    const auto n = static_cast<std::int64_t>(2 * i);
                    const bool counts = weights[i].counts;
                    store(norms, n, counts ? static_cast<float>(own.weight) : 0.0f);
                    store(norms, n + 1, counts ? static_cast<float>(own.update) : 0.0f);
                });
}

// reads update … scalars norms, writes weight …, accumulates state.
void run_lamb(const BoundOp& op) {
    const TensorView norms = op.reads.back().view;
    const TensorView scalars = op.reads[op.reads.size() - 2].view;
    for_tensors(op,
                op.reads,
                op.writes,
                scalars,
                op.accumulates[0].view,
                [&](std::size_t i, const auto& arguments, const auto& tensors) {
                    const auto n = static_cast<std::int64_t>(2 * i);
                    const cpu::LambNorms whole{.weight = static_cast<double>(load(norms, n)),
                                               .update = static_cast<double>(load(norms, n + 1))};
                    cpu::lamb_apply(arguments, whole, op.reads[i].view, tensors);
                });
}

}  // namespace orrery
