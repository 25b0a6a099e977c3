// SPDX-License-Identifier: Apache-2.0
// The end of a step over `n` parameters of this rank, all tensors in one (multi-tensor) kernel.
// States m and v and the master copy are fp32. Bytes a parameter with bf16 parameters and fp32
// gradients: AdamW 4 + 8 + 8 + 8 + 2 = 30 (gradient read; m, v, master read and written; parameter
// written). fp32 parameters are their own master.
//   dims = {n}; dtype = of the parameters (adamw, lamb_update, lamb) or gradients; variant of those
//   three = dtype of the gradients, of gradient_accumulate = dtype of the sum.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

inline std::int64_t parameter_copy_size(Dtype parameter) {
    return parameter == Dtype::fp32 ? 0 : size_bytes(parameter);
}

inline KernelCall adamw(std::int64_t n,
                        Dtype parameter = Dtype::bf16,
                        Dtype gradient = Dtype::fp32) {
    return memory_bound_call(KernelKind::adamw,
                             parameter,
                             static_cast<int>(gradient),
                             {n},
                             14.0 * static_cast<double>(n),
                             n * (size_bytes(gradient) + 24 + parameter_copy_size(parameter)));
}

// LAMB (You et al., arXiv 1904.00962) in two kernels, with the sum of the norms over the ranks that
// share a tensor between them. First: gradient and master read, m and v updated, the update written
// where the gradient was; the norms read master and update.
inline KernelCall lamb_update(std::int64_t n,
                              Dtype parameter = Dtype::bf16,
                              Dtype gradient = Dtype::fp32) {
    return memory_bound_call(KernelKind::lamb_update,
                             parameter,
                             static_cast<int>(gradient),
                             {n},
                             18.0 * static_cast<double>(n),
                             n * (size_bytes(gradient) + 24 + 8));
}

// Second: the update read, master and parameter updated.
inline KernelCall lamb(std::int64_t n,
                       Dtype parameter = Dtype::bf16,
                       Dtype gradient = Dtype::fp32) {
    return memory_bound_call(KernelKind::lamb,
                             parameter,
                             static_cast<int>(gradient),
                             {n},
                             2.0 * static_cast<double>(n),
                             n * (12 + parameter_copy_size(parameter)));
}

// sum += gradient, kept in `sum` precision.
inline KernelCall gradient_accumulate(std::int64_t n,
                                      Dtype gradient = Dtype::bf16,
                                      Dtype sum = Dtype::fp32) {
    return memory_bound_call(KernelKind::gradient_accumulate,
                             gradient,
                             static_cast<int>(sum),
                             {n},
                             static_cast<double>(n),
                             n * (size_bytes(gradient) + 2 * size_bytes(sum)));
}

// Squared L2 norm.
inline KernelCall gradient_norm(std::int64_t n, Dtype gradient = Dtype::fp32) {
    return memory_bound_call(KernelKind::gradient_norm,
                             gradient,
                             0,
                             {n},
                             2.0 * static_cast<double>(n),
                             n * size_bytes(gradient));
}

// Clipping, averaging or unscaling, in place.
inline KernelCall gradient_scale(std::int64_t n, Dtype gradient = Dtype::fp32) {
    return memory_bound_call(KernelKind::gradient_scale,
                             gradient,
                             0,
                             {n},
                             static_cast<double>(n),
                             2 * n * size_bytes(gradient));
}

}  // namespace orrery
