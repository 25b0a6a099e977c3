// SPDX-License-Identifier: Apache-2.0
// Kernels that only inference steps have.
#pragma once

#include <cstdint>
#include <span>

#include "models/serving/serving_plan.h"

namespace orrery {

inline constexpr Dtype kServedStream = Dtype::bf16;  // of activations between products

// A product with weights, and a grouped product with the weights of experts. The experts have the
// elements of `rows` as their numbers of rows, or each of `groups` experts has `rows` rows.
KernelCall served_product(const ServingPlan& plan,
                          std::int64_t rows,
                          std::int64_t columns,
                          std::int64_t depth);
KernelCall served_experts(const ServingPlan& plan,
                          std::span<const std::int64_t> rows,
                          std::int64_t columns,
                          std::int64_t depth);
KernelCall served_experts(const ServingPlan& plan,
                          std::int64_t groups,
                          std::int64_t rows,
                          std::int64_t columns,
                          std::int64_t depth);

// Reduces the bytes of a product whose operands are stored in fewer bits than its dtype has:
// `weights` elements of the weight, and in FP4 also `inputs` elements of the other operand.
void store_in_low_bits(const ServingPlan& plan,
                       std::int64_t weights,
                       std::int64_t inputs,
                       KernelCall& product);

// The cast of a product's operand from 16 bits to FP8 or FP4.
KernelCall quantise_operand(std::int64_t rows, std::int64_t columns, ProductPrecision precision);

// The kernel that writes keys and values of tokens, `width` elements each, into the cache.
KernelCall written_cache(std::int64_t tokens, std::int64_t width, Dtype stored);

// The move of rows to experts or back. `rows` is the number of rows on the experts' side, `other`
// that on the tokens' side.
KernelCall moved_rows(std::int64_t rows, std::int64_t other, std::int64_t width);

// The assignment of rows to experts. vLLM counts and sorts the rows by two kernels before the
// products (csrc/moe/moe_align_sum_kernels.cu). This is one of the two.
KernelCall expert_order(std::int64_t rows);

// One of the copies around latent attention of generating sequences, if no other kernel includes
// them: joining the two parts of queries, joining the parts of a split context, and reordering the
// heads of outputs (vllm/v1/attention/backends/mla).
KernelCall ordered_heads(std::int64_t heads, std::int64_t width);

// The rotary embedding of a rank's queries and keys.
KernelCall served_rope(const Transformer& model,
                       std::int64_t tokens,
                       std::int64_t heads,
                       std::int64_t key_value_heads);

// The activation between the products of an MLP.
KernelCall served_activation(const Transformer& model, std::int64_t rows, std::int64_t width);

// x A B for the adapters of a batch, as two grouped products; each adapter's rows are a group. `in`
// computes x A with `rank` columns. `out` multiplies by B and adds to the result of the projection
// (Chen et al., Punica, MLSys 2024: SGMV).
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
