// SPDX-License-Identifier: Apache-2.0
// The router of a mixture of experts after its product: the scores of each token's experts, the k
// best of them and their weights. Scores are the softmax or the sigmoid of the logits. A bias may
// be added to the scores for the comparison only; the weights use the scores without it (Wang et
// al., arXiv 2408.15664). With groups of neighbouring experts, only the groups with the largest
// sums of their two best scores are eligible (DeepSeek-V3, arXiv 2412.19437, section 2.1.2). The
// backward pass may add the gradient of a loss that balances experts: coefficient x experts x the
// sum over experts of the expert's share of the choices times its mean probability (Fedus et al.,
// arXiv 2101.03961, section 2.2). For sigmoids, the probability is the sigmoid over the sum of all.
//   dims = {tokens, experts, k, groups, kept_groups}; dtype = of the logits; variant = sigmoid
//   + 2 * biased + 4 * normalised + 8 * balanced.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

enum class RouterScore : std::uint8_t { softmax, sigmoid };

struct RouterShape {
    std::int64_t tokens = 0;
    std::int64_t experts = 0;
    std::int64_t k = 1;  // experts per token
    std::int64_t groups = 1;
    std::int64_t kept_groups = 1;
    RouterScore score = RouterScore::softmax;
    bool biased = false;
    bool normalised = true;  // the weights of a token sum to 1
    bool balanced = false;   // with the balancing loss; for the backward pass
    bool operator==(const RouterShape&) const = default;
};

inline RouterShape router_shape(const KernelCall& call) {
    return {.tokens = call.dims[0],
            .experts = call.dims[1],
            .k = call.dims[2],
            .groups = call.dims[3],
            .kept_groups = call.dims[4],
            .score = call.variant % 2 == 1 ? RouterScore::sigmoid : RouterScore::softmax,
            .biased = call.variant / 2 % 2 == 1,
            .normalised = call.variant / 4 % 2 == 1,
            .balanced = call.variant / 8 == 1};
}

// Whether k different experts can be chosen.
inline bool is_router_shape(const RouterShape& shape) {
    return shape.groups > 0 && shape.experts % shape.groups == 0 &&
           shape.kept_groups <= shape.groups &&
           shape.k <= shape.experts / shape.groups * shape.kept_groups;
}

inline KernelCall router_call(KernelKind kind,
                              const RouterShape& shape,
                              Dtype dtype,
                              double flop_per_score,
                              std::int64_t bytes) {
    return memory_bound_call(
        kind,
        dtype,
        (shape.score == RouterScore::sigmoid ? 1 : 0) + (shape.biased ? 2 : 0) +
            (shape.normalised ? 4 : 0) + (shape.balanced ? 8 : 0),
        {shape.tokens, shape.experts, shape.k, shape.groups, shape.kept_groups},
        flop_per_score * element_count(shape.tokens, shape.experts),
        bytes);
}

inline constexpr std::int64_t kRouterChoiceSize = 8;  // bytes of an expert's weight and number

// Reads logits and bias, writes weights and experts. Four operations per score, and one comparison
// for each of the k choices.
inline KernelCall router_forward(const RouterShape& shape, Dtype dtype) {
    return router_call(KernelKind::router_forward,
                       shape,
                       dtype,
                       4.0 + static_cast<double>(shape.k),
                       shape.tokens * shape.experts * size_bytes(dtype) +
                           (shape.biased ? shape.experts * size_bytes(Dtype::fp32) : 0) +
                           shape.tokens * shape.k * kRouterChoiceSize);
}

// Whether the gradient of a token needs all its logits, not only those of the chosen experts.
constexpr bool router_gradient_is_dense(const RouterShape& shape) {
    return shape.score == RouterScore::softmax && !shape.normalised;
}

// Reads the weights' gradients, experts and logits, writes the gradients of all logits.
inline KernelCall router_backward(const RouterShape& shape, Dtype dtype) {
    const bool reads_all = router_gradient_is_dense(shape) || shape.balanced;
    const std::int64_t read = reads_all ? shape.experts : shape.k;
    return router_call(
        KernelKind::router_backward,
        shape,
        dtype,
        (reads_all ? 6.0 : 1.0) + (shape.balanced ? 4.0 : 0.0),
        shape.tokens * ((read + shape.experts) * size_bytes(dtype) + shape.k * kRouterChoiceSize));
}

}  // namespace orrery
