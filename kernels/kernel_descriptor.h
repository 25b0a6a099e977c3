// SPDX-License-Identifier: Apache-2.0
// The description of a kernel. Each kind has a struct in its folder (kernels/NAME/NAME_kernels.h)
// with these static members, and kernels/kernel_list.h lists the structs.
//   kDescriptor                 name, operands, FLOP, bytes, class of efficiency, fusion
//   run(arguments)              the CPU implementation
//   launch(queue, arguments)    the GPU implementation, a template on the queue
//   (kernels/cuda/queue.h) why_not_on_cuda(call)       the reason why the GPU implementation
//   rejects a call; optional
// If the arguments of a kernel depend on where a rank's shard lies in its tensor (random keys,
// positions, rows of a vocabulary), it has no run() and launch(): the runtime binds them.
#pragma once

#include "kernels/operand_forms.h"

namespace orrery {

// The efficiency curve for the time of a kernel (kernels/efficiency.h).
enum class EfficiencyClass : std::uint8_t { product, attention, memory };

// The epilogue of a matrix product that can replace a kernel (runtime/fused_products.h).
enum class ProductEpilogue : std::uint8_t { none, gelu, gelu_gradient, column_sums };

struct KernelDescriptor {
    KernelKind kind{};
    EfficiencyClass efficiency = EfficiencyClass::memory;
    ProductEpilogue epilogue = ProductEpilogue::none;
    // The number of leading dimensions that must be positive, and the number of further optional
    // ones.
    std::size_t num_dims = 2;
    std::size_t num_optional_dims = 0;
    // Whether it accepts a key with such dimensions; null: all of them.
    bool (*takes)(const KernelCall& key) = nullptr;
    // Completes a key (kind, dtype, variant, dimensions) with its FLOP and bytes.
    KernelCall (*call)(const KernelCall& key) = nullptr;
    // Lists the operands for running the kernel by itself; false or null: it cannot.
    bool (*operands)(OperandForms& forms, const KernelCall& call) = nullptr;
    // The error in the operands of an op, or empty. Null: compares with `operands`.
    std::string (*why_not)(const KernelCall& call, const OperandSizes& sizes) = nullptr;
};

}  // namespace orrery
