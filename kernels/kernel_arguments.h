// SPDX-License-Identifier: Apache-2.0
// The arguments of a kernel's implementation: the call and its operands in memory, in the order
// that the kernel's descriptor documents.
#pragma once

#include <span>

#include "engine/program/program.h"
#include "kernels/tensor_view.h"

namespace orrery {

struct BoundOperand {
    TensorView view;
    const Tensor* tensor = nullptr;
    bool transposed = false;
    int part = -1;       // column part of the tensor; -1: all parts
    bool counts = true;  // false in a norm over ranks if another rank counts its copy
    // With a parameter's shard: the index of its first element in the rank's part of the parameter.
    std::int64_t first_element = 0;
    // With a piece of an activation's tokens, `view` spans several blocks with other elements in
    // between. Any other operand is one block.
    std::int64_t blocks = 1;
    std::int64_t block_stride = 0;

    std::int64_t block_size() const { return view.size - (blocks - 1) * block_stride; }
    TensorView block(std::int64_t i) const { return slice(view, i * block_stride, block_size()); }
};

struct KernelArguments {
    const KernelCall& call;
    std::span<const BoundOperand> reads;
    std::span<const BoundOperand> writes;
    std::span<const BoundOperand> accumulates;
};

}  // namespace orrery
