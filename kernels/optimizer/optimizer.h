// SPDX-License-Identifier: Apache-2.0
// The end of a step over the `n` parameters of this rank, with all tensors in one (multi-tensor)
// kernel. The moments m and v are fp32, or bf16 for AdamW; the master copy is fp32. Bytes per
// parameter with bf16 parameters and fp32 gradients: AdamW 4 + 8 + 8 + 8 + 2 = 30 (gradient read;
// m, v, master read and written; parameter written). fp32 parameters are their own master; others
// may be.
//   dims = {n}; dtype = of the parameters (adamw, lamb_update, lamb) or gradients; variant of these
//   three = dtype of the gradients (+ 8 without a master copy of parameters that are not fp32, + 16
//   with bf16 moments, + 32 operator by operator), of gradient_accumulate = dtype of the sum.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

// Whether the optimizer updates an fp32 copy of the parameters (the default) or the parameters.
enum class MasterCopy : std::uint8_t { fp32, none };

// One kernel, or one kernel for each operator of the formula (PyTorch's foreach AdamW).
enum class UpdateForm : std::uint8_t { one_kernel, by_operator };

inline constexpr int kWithoutMaster = 8;  // above all values of Dtype
inline constexpr int kSmallMoments = 16;
inline constexpr int kByOperator = 32;

inline int optimizer_variant(Dtype parameter,
                             Dtype gradient,
                             MasterCopy master,
                             Dtype moments = Dtype::fp32,
                             UpdateForm form = UpdateForm::one_kernel) {
    const bool own = parameter != Dtype::fp32 && master == MasterCopy::none;
    return static_cast<int>(gradient) + (own ? kWithoutMaster : 0) +
           (moments == Dtype::fp32 ? 0 : kSmallMoments) +
           (form == UpdateForm::one_kernel ? 0 : kByOperator);
}
inline Dtype gradient_of_optimizer(const KernelCall& call) {
    return static_cast<Dtype>(call.variant % kWithoutMaster);
}
// For adamw, lamb_update and lamb.
inline bool has_master(const KernelCall& call) {
    return call.dtype != Dtype::fp32 && call.variant % kSmallMoments < kWithoutMaster;
}
inline Dtype moments_of_optimizer(const KernelCall& call) {
    return call.variant % kByOperator < kSmallMoments ? Dtype::fp32 : Dtype::bf16;
}
inline UpdateForm form_of_optimizer(const KernelCall& call) {
    return call.variant < kByOperator ? UpdateForm::one_kernel : UpdateForm::by_operator;
}
// fp32 values per parameter in the optimizer's state: both moments, and the master.
inline std::int64_t optimizer_states(const KernelCall& call) {
    return has_master(call) ? 3 : 2;
}
// Bytes of the optimizer's state per parameter.
inline std::int64_t optimizer_state_bytes(const KernelCall& call) {
    return 2 * size_bytes(moments_of_optimizer(call)) +
           (has_master(call) ? size_bytes(Dtype::fp32) : 0);
}

// Bytes of the updated copy per parameter.
inline std::int64_t stepped_size(Dtype parameter, MasterCopy master) {
    return master == MasterCopy::none ? size_bytes(parameter) : size_bytes(Dtype::fp32);
}
inline std::int64_t parameter_copy_size(Dtype parameter, MasterCopy master) {
    return parameter == Dtype::fp32 || master == MasterCopy::none ? 0 : size_bytes(parameter);
}

// Operator by operator, with parameter w and moments m and v (torch/optim/adamw.py,
// _multi_tensor_adamw): w decays; m moves towards the gradient; v decays and adds its square; a
// temporary becomes the root of v, is divided, and gets epsilon added; w adds m over it. Each
// operator reads its operands and writes its result.
inline constexpr std::uint8_t kOperatorsOfAdamw = 8;
inline std::int64_t adamw_bytes(std::int64_t stepped,
                                std::int64_t gradient,
                                std::int64_t moment,
                                UpdateForm form) {
    return form == UpdateForm::one_kernel ? gradient + 4 * moment + 2 * stepped
                                          : 2 * gradient + 14 * moment + 4 * stepped;
}

inline KernelCall adamw(std::int64_t n,
                        Dtype parameter = Dtype::bf16,
                        Dtype gradient = Dtype::fp32,
                        MasterCopy master = MasterCopy::fp32,
                        Dtype moments = Dtype::fp32,
                        UpdateForm form = UpdateForm::one_kernel) {
    return memory_bound_call(
        KernelKind::adamw,
        parameter,
        optimizer_variant(parameter, gradient, master, moments, form),
        {n},
        14.0 * static_cast<double>(n),
        n * (adamw_bytes(
                 stepped_size(parameter, master), size_bytes(gradient), size_bytes(moments), form) +
             parameter_copy_size(parameter, master)));
}

// LAMB (You et al., arXiv 1904.00962) in two kernels. Between them, ranks that share a tensor sum
// its norms. The first reads gradient and master, updates m and v, and overwrites the gradient with
// the update; the norms read master and update.
inline KernelCall lamb_update(std::int64_t n,
                              Dtype parameter = Dtype::bf16,
                              Dtype gradient = Dtype::fp32,
                              MasterCopy master = MasterCopy::fp32) {
    return memory_bound_call(KernelKind::lamb_update,
                             parameter,
                             optimizer_variant(parameter, gradient, master),
                             {n},
                             18.0 * static_cast<double>(n),
                             n * (size_bytes(gradient) + 24 + 2 * stepped_size(parameter, master)));
}

// The second kernel reads the update and updates master and parameter.
inline KernelCall lamb(std::int64_t n,
                       Dtype parameter = Dtype::bf16,
                       Dtype gradient = Dtype::fp32,
                       MasterCopy master = MasterCopy::fp32) {
    return memory_bound_call(
        KernelKind::lamb,
        parameter,
        optimizer_variant(parameter, gradient, master),
        {n},
        2.0 * static_cast<double>(n),
        n * (4 + 2 * stepped_size(parameter, master) + parameter_copy_size(parameter, master)));
}

// sum += gradient; dtype `sum` is that of the sum.
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
