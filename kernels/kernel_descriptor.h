// SPDX-License-Identifier: Apache-2.0
// What is known of a kernel, in one place: each kind has a struct in its folder
// (kernels/NAME/NAME_kernels.h) with these static members, and kernels/kernel_list.h lists them.
//   kDescriptor                 name, operands, FLOP, bytes, class of efficiency, fusion
//   run(arguments)              the CPU's implementation
//   launch(queue, arguments)    the GPU's, a template on the queue (kernels/cuda/queue.h)
//   why_not_on_cuda(call)       calls that the GPU's implementation does not take, if any
// A kernel whose arguments depend on where a rank's shard lies in its tensor (random keys,
// positions, rows of a vocabulary) has no run() and launch(): the runtime binds these.
#pragma once

#include "kernels/operand_forms.h"

namespace orrery {

// Which efficiency curve the time of a kernel follows (kernels/efficiency.h).
enum class EfficiencyClass : std::uint8_t { product, attention, memory };

// What the epilogue of a matrix product can do in a kernel's place (runtime/fused_products.h).
enum class ProductEpilogue : std::uint8_t { none, gelu, gelu_gradient, column_sums };

struct KernelDescriptor {
    KernelKind kind{};
    EfficiencyClass efficiency = EfficiencyClass::memory;
    ProductEpilogue epilogue = ProductEpilogue::none;
    // Leading dimensions that must be positive, and how many more may be.
    std::size_t num_dims = 2;
    std::size_t num_optional_dims = 0;
    // Which keys with such dimensions it takes; null: all.
    bool (*takes)(const KernelCall& key) = nullptr;
    // The call of a key (kind, dtype, variant, dimensions), with its FLOP and bytes.
    KernelCall (*call)(const KernelCall& key) = nullptr;
    // The operands of the kernel by itself, and whether it can run so; null: it cannot.
    bool (*operands)(OperandForms& forms, const KernelCall& call) = nullptr;
    // What is wrong with the operands of an op, or empty; null: they are those of `operands`.
    std::string (*why_not)(const KernelCall& call, const OperandSizes& sizes) = nullptr;
};

}  // namespace orrery
