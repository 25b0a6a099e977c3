// SPDX-License-Identifier: Apache-2.0
// Rows of tokens on their way to experts. Each token has k experts, -1 if a capacity dropped it,
// and a row for each. The rows of the first expert come first; the rows of one expert are in the
// order of their tokens.
//   expert_counts: dims = {tokens, experts, k, capacity or 0}; dtype = int32.
//   permute:       dims = {tokens, width, k, experts}; dtype = of the rows; variant: 1 with
//   weights. unpermute:     the same. expert_bias:   dims = {experts, 1}; dtype = fp32.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

struct ExpertRows {
    std::int64_t tokens = 0;
    std::int64_t width = 0;
    std::int64_t k = 1;
    std::int64_t experts = 1;
    bool weights = false;  // the weights, or their gradients, move with the rows
    bool operator==(const ExpertRows&) const = default;
};

inline ExpertRows expert_rows(const KernelCall& call) {
    return {.tokens = call.dims[0],
            .width = call.dims[1],
            .k = call.dims[2],
            .experts = call.dims[3],
            .weights = call.variant == 1};
}

// `capacity` is the number of tokens that an expert accepts from one rank; 0: all.
inline KernelCall expert_counts(std::int64_t tokens,
                                std::int64_t experts,
                                std::int64_t k,
                                std::int64_t capacity) {
    const std::int64_t ids = tokens * k;
    return memory_bound_call(KernelKind::expert_counts,
                             Dtype::int32,
                             0,
                             {tokens, experts, k, capacity},
                             element_count(tokens, k),
                             4 * (ids * (capacity > 0 ? 3 : 1) + 3 * experts));
}

namespace detail {

inline KernelCall rows_call(KernelKind kind, const ExpertRows& shape, Dtype dtype, double flop) {
    const std::int64_t rows = shape.tokens * shape.k;
    return memory_bound_call(
        kind,
        dtype,
        shape.weights ? 1 : 0,
        {shape.tokens, shape.width, shape.k, shape.experts},
        flop,
        (shape.tokens + rows) * shape.width * size_bytes(dtype) + rows * (shape.weights ? 12 : 4));
}

}  // namespace detail

inline KernelCall permute(const ExpertRows& shape, Dtype dtype) {
    return detail::rows_call(KernelKind::permute, shape, dtype, 0.0);
}

inline KernelCall unpermute(const ExpertRows& shape, Dtype dtype) {
    return detail::rows_call(
        KernelKind::unpermute, shape, dtype, element_count(shape.tokens * shape.k, shape.width));
}

inline KernelCall expert_bias(std::int64_t experts) {
    return memory_bound_call(KernelKind::expert_bias,
                             Dtype::fp32,
                             0,
                             {experts, 1},
                             2.0 * static_cast<double>(experts),
                             3 * experts * size_bytes(Dtype::fp32));
}

}  // namespace orrery
