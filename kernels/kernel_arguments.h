// SPDX-License-Identifier: Apache-2.0
// What the implementation of a kernel is called with: the call and its operands in memory, in the
// order that the kernel's descriptor documents.
#pragma once

#include <span>

#include "engine/program/program.h"
#include "kernels/tensor_view.h"

namespace orrery {

struct BoundOperand {
    TensorView view;
    const Tensor* tensor = nullptr;
    bool transposed = false;
    int part = -1;       // of its columns; -1: all
    bool counts = true;  // in a norm over ranks: false where another rank's copy does
    // Of a parameter's shard, in what the rank has of the parameter.
    std::int64_t first_element = 0;
    // A piece of an activation's tokens: `view` spans it, blocks of elements with others in
    // between. Anything else is one block.
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
