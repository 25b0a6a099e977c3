// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/expert_products.h"

#include <algorithm>

#include "kernels/elementwise/elementwise.h"

namespace orrery {
namespace {

constexpr auto kBiasMoves = Cause::memory_bound_kernels;

// Bytes of an element: the product with the weight writes 4 bytes, the sum reads 6 and writes 4,
// putting experts together reads and writes 4, rounding reads 4 and writes 2.
constexpr std::int64_t kForwardBytes = 28;
// Widening and rounding 6 each, putting together 4; of bias and weights a product, 8, and a
// sum, 4. The bias gradient's op reads 2 of them.
constexpr std::int64_t kBackwardBytes = 38;

}  // namespace

void ExpertProductNode::forward(ForwardPass& pass) {
    y_.value = pass.b.product(name_, x_.value, weight_, kept(), 1, nullptr, &bias_);
}

void ExpertProductNode::backward(BackwardPass& pass) {
    x_.gradient = pass.b.gradient_product(name_ + " dgrad", y_.gradient, weight_);
    weight_gradient_op(pass.b, name_ + " wgrad", x_.value, y_.gradient, weight_, pass.deferred);
    if (bias_.elements > 0) {
        pass.b.bias_gradient(name_ + " bias gradient", y_.gradient, bias_);
    }
}

void ExpertBiasNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& x = x_.value;
    y_.value = b.value_like(
        x, "expert bias", x.shape[kWidth], x.layout, Lifetime::slot, b.activation_dtype());
    const OpSpec spec{.name = "expert bias",
                      .stream = kComputeStream,
                      .cause = b.recomputing ? Cause::recomputation : kBiasMoves,
                      .reads = {x.tensor, weights_.value.tensor},
                      .writes = {y_.value.tensor},
                      .accumulates = {},
                      .launches = launches(b)};
    b.ops.kernel(moved(b, y_.value, kForwardBytes), spec);
}

void ExpertBiasNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& dy = y_.gradient;
    x_.gradient = b.value_like(dy,
                               "expert bias backward",
                               dy.shape[kWidth],
                               dy.layout,
                               pass.read_later(),
                               b.activation_dtype());
    const OpSpec spec{.name = "expert bias backward",
                      .stream = kComputeStream,
                      .cause = kBiasMoves,
                      .reads = {dy.tensor},
                      .writes = {x_.gradient.tensor},
                      .accumulates = {},
                      .launches = launches(b)};
    b.ops.kernel(moved(b, x_.gradient, kBackwardBytes), spec);
    b.bias_gradient("expert bias gradient", x_.gradient, bias_);
}

KernelCall ExpertBiasNode::moved(const BlockBuilder& b, const Value& y, std::int64_t bytes) {
    return transpose(
        b.local_tokens(y) * bytes / 2 / size_bytes(Dtype::fp32), b.local_width(y), Dtype::fp32);
}

// Two kernels for each expert of the rank, one that puts them together, one that rounds.
std::uint8_t ExpertBiasNode::launches(const BlockBuilder& b) const {
    const std::int64_t kernels = 2 * b.local_experts(bias_) + 2;
    return static_cast<std::uint8_t>(std::min<std::int64_t>(kernels, 255));
}

}  // namespace orrery
