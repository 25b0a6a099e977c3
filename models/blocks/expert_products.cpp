// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/expert_products.h"

#include <algorithm>

#include "kernels/cast/cast.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/gemm/gemm.h"
#include "models/blocks/expert_moves.h"

namespace orrery {
namespace {

constexpr auto kBiasMoves = Cause::memory_bound_kernels;

// Bytes of an element. Two kernels have operands of several types: the product with the weight
// writes 4 bytes, the sum reads 6 and writes 4. The concatenation of experts then reads and writes
// 4, and the rounding reads 4 and writes 2.
constexpr std::int64_t kSumBytes = 14;
constexpr std::int64_t kTogetherBytes = 14;
// In the backward pass, widening (6 bytes) and the product with the bias (8) have operands of
// several types. Rounding has 6 bytes, concatenation 4, the product with the weight 8, and two sums
// 4 each. The bias gradient's op reads 2 of these bytes.
constexpr std::int64_t kWideningBytes = 14;
constexpr std::int64_t kBackwardBytes = 24;
constexpr std::int64_t kMixedKernels = 2;   // for each expert of the rank
constexpr std::uint8_t kMovingKernels = 2;  // concatenation and rounding

constexpr std::int64_t kTileRows = 128;  // of a tile of a product

}  // namespace

void ExpertProductNode::forward(ForwardPass& pass) {
    Value x = x_.value;
    if (forward_.move != nullptr) {
        x.tensor = forward_.sent->value.tensor;
    }
    begin_product(pass.b, x);
    y_.value = pass.b.product(name_, x, weight_, kept(), 1, nullptr, &bias_);
    if (forward_.move != nullptr) {
        pass.b.ops.next_waits_for(forward_.move->exchange());
        add_last_tile(pass.b, name_ + " last tile", y_.value, weight_.shape[kInput]);
    }
}

void ExpertProductNode::backward(BackwardPass& pass) {
    Value dy = y_.gradient;
    if (backward_.move != nullptr) {
        dy.tensor = backward_.sent->gradient.tensor;
    }
    begin_product(pass.b, dy);
    x_.gradient = pass.b.gradient_product(name_ + " dgrad", dy, weight_);
    if (backward_.move != nullptr) {
        pass.b.ops.next_waits_for(backward_.move->exchange());
        add_last_tile(pass.b, name_ + " dgrad last tile", x_.gradient, weight_.shape[kOutput]);
    }
    weight_gradient_op(pass.b, name_ + " wgrad", x_.value, y_.gradient, weight_, pass.deferred);
    if (bias_.elements > 0) {
        pass.b.bias_gradient(name_ + " bias gradient", y_.gradient, bias_);
    }
}

void ExpertProductNode::begin_product(const BlockBuilder& b, const Value& x) {
    begin_ = b.ops.size();
    operand_ = x.tensor;
}

// The tiles of the rows that come last are multiplied behind the exchange.
void ExpertProductNode::add_last_tile(BlockBuilder& b,
                                      std::string_view name,
                                      const Value& made,
                                      std::int64_t depth) {
    const std::int64_t rows = std::min(kTileRows, b.local_tokens(made));
    b.kernel(name,
             gemm(rows, b.local_width(made), depth, 1, made.dtype, GemmEpilogue::none, made.dtype),
             Cause::gemm_inefficiency,
             {&made},
             {});
}

void ExpertBiasNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& x = x_.value;
    y_.value = b.value_like(
        x, "expert bias", x.shape[kWidth], x.layout, Lifetime::slot, b.activation_dtype());
    const Cause cause = b.recomputing ? Cause::recomputation : kBiasMoves;
    b.ops.kernel(mixed(b, y_.value, kSumBytes),
                 {.name = "expert bias",
                  .stream = kComputeStream,
                  .cause = cause,
                  .reads = {x.tensor, weights_.value.tensor},
                  .writes = {y_.value.tensor},
                  .accumulates = {},
                  .launches = launches(b)});
    b.ops.kernel(moved(b, y_.value, kTogetherBytes),
                 {.name = "expert bias rows",
                  .stream = kComputeStream,
                  .cause = cause,
                  .reads = {},
                  .writes = {},
                  .accumulates = {y_.value.tensor},
                  .launches = kMovingKernels});
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
    b.ops.kernel(mixed(b, x_.gradient, kWideningBytes),
                 {.name = "expert bias backward",
                  .stream = kComputeStream,
                  .cause = kBiasMoves,
                  .reads = {dy.tensor},
                  .writes = {x_.gradient.tensor},
                  .accumulates = {},
                  .launches = launches(b)});
    b.ops.kernel(moved(b, x_.gradient, kBackwardBytes),
                 {.name = "expert bias rows backward",
                  .stream = kComputeStream,
                  .cause = kBiasMoves,
                  .reads = {},
                  .writes = {},
                  .accumulates = {x_.gradient.tensor},
                  .launches = kMovingKernels});
    b.bias_gradient("expert bias gradient", x_.gradient, bias_);
}

KernelCall ExpertBiasNode::moved(const BlockBuilder& b, const Value& y, std::int64_t bytes) {
    return transpose(
        b.local_tokens(y) * bytes / 2 / size_bytes(Dtype::fp32), b.local_width(y), Dtype::fp32);
}

KernelCall ExpertBiasNode::mixed(const BlockBuilder& b, const Value& y, std::int64_t bytes) {
    const std::int64_t elements = b.local_tokens(y) * b.local_width(y);
    KernelCall call = converting(kMixedKernels * elements, y.dtype, Dtype::fp32);
    call.bytes = bytes * elements;
    return call;
}

std::uint8_t ExpertBiasNode::launches(const BlockBuilder& b) const {
    const std::int64_t kernels = kMixedKernels * b.local_experts(bias_);
    return static_cast<std::uint8_t>(std::min<std::int64_t>(kernels, 255));
}

}  // namespace orrery
