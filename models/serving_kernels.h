// SPDX-License-Identifier: Apache-2.0
// Kernels of inference steps that training has not.
#pragma once

#include <cstdint>

#include "models/serving_plan.h"

namespace orrery {

inline constexpr Dtype kServedStream = Dtype::bf16;  // of activations between products

// A kernel that reads the operand of an FP8 or FP4 product in 16 bits and writes it in theirs.
KernelCall quantise_operand(std::int64_t rows, std::int64_t columns, ProductPrecision precision);

// Between the products of an MLP.
KernelCall served_activation(const Transformer& model, std::int64_t rows, std::int64_t width);

// x A B for the adapters of a batch: the rows of each are a group of a product into `rank` columns,
// and of one out of them whose result is added to the projection's (Chen et al., Punica, MLSys
// 2024: SGMV).
struct AdapterKernels {
    KernelCall in;
    KernelCall out;
};
AdapterKernels adapter_kernels(std::int64_t adapters,
                               std::int64_t rows,
                               std::int64_t columns,
                               std::int64_t depth,
                               std::int64_t rank);

}  // namespace orrery
