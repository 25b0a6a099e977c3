// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/mask_moves.h"

#include "kernels/elementwise/elementwise.h"
#include "kernels/gemm/gemm.h"
#include "models/blocks/expert_moves.h"

namespace orrery {
namespace {

// These products are no products of the model: their whole time moves rows.
constexpr auto kMasksMove = Cause::memory_bound_kernels;

// Bytes of an element of a mask. top1gating() and top2gating() write the fp32 weights of one choice
// (4), and add those of the second (12). The mask is their bool() (5), cast to 16 bits (3), and the
// weights are cast, too (6).
std::int64_t mask_bytes(std::int64_t choices) {
    return 4 * choices + 12 * (choices - 1) + 14;
}
// The gradient becomes fp32 again (6). For each choice it is multiplied by the choice's places (8)
// and added up over them (4).
std::int64_t gradient_bytes(std::int64_t choices) {
    return 6 + 12 * choices;
}
// The kernels of these steps.
std::uint8_t mask_kernels(std::int64_t choices) {
    return static_cast<std::uint8_t>(2 * choices + 2);
}
std::uint8_t gradient_kernels(std::int64_t choices) {
    return static_cast<std::uint8_t>(2 * choices + 1);
}

KernelCall product(const Value& x, std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm(m, n, k, 1, x.dtype, GemmEpilogue::none, x.dtype);
}

// Framework ops over a mask of all tokens and places.
void pass_over_masks(BlockBuilder& b,
                     std::string_view name,
                     std::int64_t elements,
                     std::int64_t bytes_of_element,
                     std::uint8_t launches,
                     const Value& reads,
                     const Value& writes) {
    KernelCall call = transpose(1, elements, Dtype::fp32);
    call.bytes = elements * bytes_of_element;
    b.ops.kernel(call,
                 {.name = std::string{name},
                  .stream = kComputeStream,
                  .cause = b.recomputing ? Cause::recomputation : kMasksMove,
                  .reads = {reads.tensor},
                  .writes = {writes.tensor},
                  .accumulates = {},
                  .launches = launches});
}

}  // namespace

void MaskGatherNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& x = x_.value;
    rows_.value = b.rows_value("expert rows",
                               rows_of_layer(b, layer_),
                               x.shape[kWidth],
                               x.layout,
                               Lifetime::slot,
                               x.dtype);
    const std::int64_t tokens = b.local_tokens(x);
    const std::int64_t places = b.local_tokens(rows_.value);
    const std::int64_t choices = b.model.moe_router_topk;
    // The mask, and the mask with weights: both are kept.
    masks_.value = b.value_like(x, "masks", 2 * places, x.layout, saved(), x.dtype);
    pass_over_masks(b,
                    "masks",
                    tokens * places,
                    mask_bytes(choices),
                    mask_kernels(choices),
                    weights_.value,
                    masks_.value);
    b.kernel("gather by mask",
             product(x, places, b.local_width(x), tokens),
             kMasksMove,
             {&masks_.value, &x},
             {&rows_.value});
}

void MaskGatherNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& drows = rows_.gradient;
    const Value dx =
        b.value("gather by mask backward", x_.value.shape[kWidth], drows.layout, Lifetime::slot);
    b.kernel("gather by mask backward",
             product(drows, b.local_tokens(dx), b.local_width(dx), b.local_tokens(drows)),
             kMasksMove,
             {&masks_.value, &drows},
             {&dx});
    if (x_.gradient.empty()) {
        x_.gradient = dx;
    } else {
        add_gradient(b, x_, dx);
    }
}

void MaskScatterNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& rows = rows_.value;
    y_.value = b.value("scatter by mask", rows.shape[kWidth], rows.layout, Lifetime::slot);
    b.kernel("scatter by mask",
             product(rows, b.local_tokens(y_.value), b.local_width(rows), b.local_tokens(rows)),
             kMasksMove,
             {&masks_.value, &rows},
             {&y_.value});
}

void MaskScatterNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& dy = y_.gradient;
    const Value& rows = rows_.value;
    const std::int64_t tokens = b.local_tokens(y_.value);
    const std::int64_t places = b.local_tokens(rows);
    const std::int64_t width = b.local_width(rows);
    const std::int64_t choices = b.model.moe_router_topk;
    const Value dmask =
        b.value_like(dy, "masks backward", places, dy.layout, Lifetime::slot, dy.dtype);
    b.kernel(
        "masks backward", product(dy, tokens, places, width), kMasksMove, {&dy, &rows}, {&dmask});
    const Value& weights = weights_.value;
    weights_.gradient = b.rows_value("expert weights backward",
                                     weights.rows,
                                     1,
                                     weights.layout,
                                     pass.read_later(),
                                     weights.dtype);
    pass_over_masks(b,
                    "expert weights backward",
                    tokens * places,
                    gradient_bytes(choices),
                    gradient_kernels(choices),
                    dmask,
                    weights_.gradient);
    rows_.gradient = b.rows_value("scatter by mask backward",
                                  rows.rows,
                                  rows.shape[kWidth],
                                  rows.layout,
                                  pass.read_later(),
                                  rows.dtype);
    b.kernel("scatter by mask backward",
             product(dy, places, width, tokens),
             kMasksMove,
             {&masks_.value, &dy},
             {&rows_.gradient});
}

}  // namespace orrery
