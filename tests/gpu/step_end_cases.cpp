// SPDX-License-Identifier: Apache-2.0
// The end of a step on drawn tensors: AdamW and the squared norm, beside the CPU's.
#include <fmt/format.h>

#include "engine/program/device_scalars.h"
#include "kernels/optimizer/optimizer_cuda.h"
#include "tests/gpu/kernel_case.h"

namespace orrery::gpu_check {
namespace {

using device::CudaQueue;
using numeric::Draw;
using numeric::Tensor;

const cpu::OptimizerArguments kStep{.learning_rate = 0.01f,
                                    .beta1 = 0.9f,
                                    .beta2 = 0.95f,
                                    .epsilon = 1e-8f,
                                    .weight_decay = 0.1f,
                                    .step = 17};

Tensor scalars_tensor() {
    Tensor scalars{kNumDeviceScalars, Dtype::fp32};
    const auto set = [&](DeviceScalar s, float value) {
        store(scalars.view(), static_cast<std::int64_t>(s), value);
    };
    set(DeviceScalar::learning_rate, kStep.learning_rate);
    set(DeviceScalar::beta1, kStep.beta1);
    set(DeviceScalar::beta2, kStep.beta2);
    set(DeviceScalar::epsilon, kStep.epsilon);
    set(DeviceScalar::weight_decay, kStep.weight_decay);
    set(DeviceScalar::step, static_cast<float>(kStep.step));
    return scalars;
}

// Operands: scalars, then gradients, m, v, masters and parameters, the tensors one behind the
// other at multiples of `pitch` elements.
cpu::OptimizerTensors tensors_of(const Views& v, std::int64_t first, std::int64_t size) {
    return {.gradient = slice(v[1], first, size),
            .m = slice(v[2], first, size),
            .v = slice(v[3], first, size),
            .master = slice(v[4], first, size),
            .parameter = slice(v[5], first, size)};
}

KernelCase adamw_case(Draw& draw, Dtype gradients) {
    const std::int64_t count = draw.between(1, 60);
    const std::int64_t size = draw.between(1, 20'000);
    const std::int64_t pitch = draw.coin() ? size : (size + 7) / 8 * 8;
    const std::int64_t all = count * pitch;
    KernelCase c{.kernel = "adamw",
                 .shape = fmt::format("{} x {}, {} apart", count, size, pitch),
                 .dtype = gradients,
                 .allowed = 1e-6};  // pow() of the device may differ in its last bit
    c.operands = {scalars_tensor(),
                  draw.tensor(all, gradients),
                  draw.tensor(all, Dtype::fp32),
                  draw.tensor(all, Dtype::fp32, 0, 1),
                  draw.tensor(all, Dtype::fp32),
                  draw.tensor(all, Dtype::bf16)};
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        std::vector<device::OptimizerTensor> tensors;
        for (std::int64_t i = 0; i < count; ++i) {
            tensors.push_back({.tensors = tensors_of(v, i * pitch, size), .decays = i % 2 == 0});
        }
        device::adamw(q,
                      v[0],
                      device::ParameterRounding::nearest,
                      std::span<const device::OptimizerTensor>{tensors});
    };
    c.on_cpu = [=](const Views& v) {
        for (std::int64_t i = 0; i < count; ++i) {
            cpu::OptimizerArguments arguments = kStep;
            arguments.weight_decay = i % 2 == 0 ? kStep.weight_decay : 0.0f;
            cpu::adamw(arguments, tensors_of(v, i * pitch, size));
        }
    };
    return c;
}

KernelCase norm_case(Draw& draw, Dtype dtype) {
    const std::int64_t count = draw.between(1, 60);
    const std::int64_t size = draw.between(1, 30'000);
    KernelCase c{.kernel = "gradient_norm",
                 .shape = fmt::format("{} x {}", count, size),
                 .dtype = dtype,
                 .allowed = 1e-6};
    c.operands = {draw.tensor(count * size, dtype), Tensor{1, Dtype::fp32}};
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        std::vector<ConstTensorView> parts;
        for (std::int64_t i = 0; i < count; ++i) {
            parts.push_back(slice(v[0], i * size, size));
        }
        device::gradient_norm(q, std::span<const ConstTensorView>{parts}, v[1]);
    };
    c.on_cpu = [=](const Views& v) {
        double squares = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            squares += cpu::squared_norm(slice(v[0], i * size, size));
        }
        store(v[1], 0, static_cast<float>(squares));
    };
    return c;
}

}  // namespace

std::vector<KernelCase> drawn_step_end_cases(Draw& draw, int round) {
    const Dtype dtype = round % 2 == 0 ? Dtype::fp32 : Dtype::bf16;
    return {adamw_case(draw, dtype), norm_case(draw, dtype)};
}

}  // namespace orrery::gpu_check
