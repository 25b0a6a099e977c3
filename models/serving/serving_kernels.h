// SPDX-License-Identifier: Apache-2.0
// Kernels of inference steps that training has not.
#pragma once

#include <cstdint>

#include "models/serving/serving_plan.h"

namespace orrery {

inline constexpr Dtype kServedStream = Dtype::bf16;  // of activations between products

// A product by weights, and one by the weights of `groups` experts, each with `rows` rows.
KernelCall served_product(const ServingPlan& plan,
                          std::int64_t rows,
                          std::int64_t columns,
                          std::int64_t depth);
KernelCall served_experts(const ServingPlan& plan,
                          std::int64_t groups,
                          std::int64_t rows,
                          std::int64_t columns,
                          std::int64_t depth);

// A kernel that reads the operand of an FP8 or FP4 product in 16 bits and writes it in theirs.
KernelCall quantise_operand(std::int64_t rows, std::int64_t columns, ProductPrecision precision);

// Keys and values of tokens, `width` elements each, on their way into the cache.
KernelCall written_cache(std::int64_t tokens, std::int64_t width, Dtype stored);

// `rows` rows of a step's tokens that experts get, or that they give back; the `other` side has
// those of the tokens themselves.
KernelCall moved_rows(std::int64_t rows, std::int64_t other, std::int64_t width);

// Which rows are of which expert: vLLM counts and sorts them by two kernels before the products
// (csrc/moe/moe_align_sum_kernels.cu). This is one of them.
KernelCall expert_order(std::int64_t rows);

// Around latent attention of sequences that generate, where no other kernel does it on the way: the
// two parts of queries are joined, the parts of a split context, and the heads of outputs put in
// order (vllm/v1/attention/backends/mla). Each is a kernel.
KernelCall ordered_heads(std::int64_t heads, std::int64_t width);

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
