// SPDX-License-Identifier: Apache-2.0
// One call of a kernel on given operands: on the GPU, and by its CPU twin where it is to be
// checked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/queue.h"
#include "tests/kernels/numeric.h"

namespace orrery::gpu_check {

using Views = std::vector<TensorView>;

struct KernelCase {
    std::string kernel;
    std::string shape;
    Dtype dtype = Dtype::bf16;
    double allowed = 0;  // relative error of any operand; 0: the same bits
    double bytes = 0;    // of memory traffic, for the rate
    double flop = 0;     // if not 0, the rate is this
    device::TensorCores tensor_cores = device::TensorCores::warps;
    std::vector<numeric::Tensor> operands{};
    std::function<void(device::CudaQueue&, const Views&)> on_gpu{};
    std::function<void(const Views&)> on_cpu{};  // empty: only timed
};

// Cases of drawn shapes, each with its CPU twin; `round` counts from 0.
std::vector<KernelCase> drawn_cases(numeric::Draw& draw, int round);
// Cases of the sizes that training has, for their rates.
std::vector<std::function<KernelCase()>> timed_cases();

// Large tensors: drawn numbers that repeat.
numeric::Tensor repeated(std::int64_t size, Dtype dtype, float scale = 1.0f);

}  // namespace orrery::gpu_check
