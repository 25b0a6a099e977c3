// SPDX-License-Identifier: Apache-2.0
// One call of a kernel on given operands: on the GPU, and by its CPU twin where it is to be
// checked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
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
    // Of attention: what it runs on, none being its kernels by rows. Others run on no tensor cores.
    std::optional<device::TensorCores> tensor_cores{};
    std::vector<numeric::Tensor> operands{};
    // Of large operands, which are made when the case is run.
    std::function<std::vector<numeric::Tensor>()> make_operands{};
    std::function<void(device::CudaQueue&, const Views&)> on_gpu{};
    // Instead of on_gpu, where another library launches.
    std::function<Result<void>(CUstream_st*, const Views&)> on_stream{};
    // Before the first of these; may write to what the case writes to.
    std::function<Result<void>(CUstream_st*, const Views&)> prepare{};
    std::function<void(const Views&)> on_cpu{};  // empty: only timed, or beside the rows
    bool beside_rows = false;                    // checked beside the kernels by rows, on the GPU
};

// Cases of drawn shapes, each with its CPU twin; `round` counts from 0.
std::vector<KernelCase> drawn_cases(numeric::Draw& draw, int round);
std::vector<KernelCase> drawn_step_end_cases(numeric::Draw& draw, int round);
std::vector<KernelCase> drawn_products(numeric::Draw& draw, int round);
// Cases of the sizes that training has, for their rates; those of tensor cores are also checked
// beside the kernels by rows.
std::vector<KernelCase> timed_cases();
std::vector<KernelCase> timed_products();

// The name of what a case runs on, and what shares a process with it.
std::string cores_of(const KernelCase& c);
std::string family_of(const KernelCase& c);
// "family kernel shape dtype": what --list prints and --only matches.
std::string line_of(const KernelCase& c);

// Large tensors: drawn numbers that repeat.
numeric::Tensor repeated(std::int64_t size, Dtype dtype, float scale = 1.0f);

}  // namespace orrery::gpu_check
