// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/row_permutation.h"

#include "kernels/elementwise/elementwise.h"

namespace orrery {
namespace {

constexpr auto kPermutes = Cause::memory_bound_kernels;

// LSH-MoE hashes each token six times (Nie et al., NeurIPS 2024, section 4): a random rotation,
// whose largest coordinate is the bucket. The rotation is assumed to be pseudo-random (Andoni et
// al., 2015), which reads and writes the tokens.
constexpr std::int64_t kHashes = 6;

// A kernel over all tokens. It moves `times` the bytes of x.
void pass_over_tokens(
    BlockBuilder& b, std::string_view name, const Value& x, std::int64_t times, Cause cause) {
    KernelCall call = transpose(b.local_tokens(x), b.local_width(x), x.dtype);
    call.bytes = times * bytes_on_rank(b, x);
    b.ops.kernel(call,
                 {.name = std::string{name},
                  .stream = kComputeStream,
                  .cause = b.recomputing ? Cause::recomputation : cause,
                  .reads = {x.tensor},
                  .writes = {},
                  .accumulates = {}});
}

// What PyTorch's operators make of a permutation beside its rows (Megatron-Core's permute() and
// unpermute(), moe_utils.py of May 2026). Rows are permuted by places: the map of tokens and
// experts is copied and sorted, and a remainder makes tokens of places. The weights are copied and
// taken. Backward: zeros for the sums of rows, zeros and sums for the weights, and their copy.
constexpr std::uint8_t kPermuteOperators = 5;
constexpr std::uint8_t kPermuteBackwardOperators = 4;
constexpr std::uint8_t kUnpermuteOperators = 1;  // zeros for the sums
// A sort reads and writes a flag and a place of 64 bits for each token and expert, assumed twice.
constexpr std::int64_t kSortBytes = 2 * 2 * (1 + 8);

// Adds the framework's operators beside the movement of rows. A fused kernel needs none of them.
void permutation_operators(BlockBuilder& b,
                           std::string_view name,
                           const Value& of,
                           std::int64_t bytes,
                           std::uint8_t operators) {
    if (!b.plan.moe_permute_fusion) {
        b.framework_ops(name, of.tensor, bytes, operators);
    }
}

// Gathered rows move twice, by their token and by their expert, and each time an operator finds the
// place of each element (torch.gather, scatter and scatter_add of MoEAllGatherTokenDispatcher,
// Megatron-Core 0.6 to 0.9). A product with their weights lies between.
bool moves_twice(const BlockBuilder& b) {
    return !b.plan.moe_permute_fusion &&
           b.plan.moe_token_dispatcher_type == TokenDispatcher::allgather;
}

std::int64_t bytes_of_map(const BlockBuilder& b, std::int64_t element) {
    return tokens_of_rank(b) * b.model.num_experts * element;
}

}  // namespace

void PermuteNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const bool gathered = b.plan.moe_token_dispatcher_type == TokenDispatcher::allgather;
    if (b.plan.moe_lsh_compression_rate < 1 && !x_.value.of_experts() && part_.number == 0) {
        pass_over_tokens(b, "hashes of tokens", x_.value, 2 * kHashes, kPermutes);
    }
    rows_.value = b.rows_value("expert rows",
                               rows_of_layer(b, layer_, part_.of),
                               x_.value.shape[kWidth],
                               gathered ? b.layouts.expert_rows : x_.value.layout,
                               gathered ? saved() : Lifetime::slot,
                               x_.value.dtype);
    permutation_operators(
        b, "permute operators", x_.value, bytes_of_map(b, kSortBytes), kPermuteOperators);
    if (moves_twice(b)) {
        const Value by_token = b.rows_value("rows by token",
                                            rows_.value.rows,
                                            x_.value.shape[kWidth],
                                            rows_.value.layout,
                                            Lifetime::slot,
                                            x_.value.dtype);
        move_rows(b, "rows by token", {&x_.value}, {&by_token}, {.placed = &by_token});
        move_rows(b, "permute", {&by_token}, {&rows_.value}, {.placed = &by_token});
        return;
    }
    move_rows(b, "permute", {&x_.value}, {&rows_.value}, {.whole = &x_.value, .part = part_});
}

Value PermuteNode::gradient_of_whole(BlockBuilder& b) const {
    const Value& drows = rows_.gradient;
    const Layout layout = with(drows.layout, Placement::routed, partial());
    return x_.value.of_experts()
               ? b.rows_value("permute backward",
                              x_.value.rows,
                              x_.value.shape[kWidth],
                              layout,
                              Lifetime::slot,
                              x_.value.dtype)
               : b.value("permute backward", x_.value.shape[kWidth], layout, Lifetime::slot);
}

void PermuteNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& drows = rows_.gradient;
    if (part_.of > 1 && !x_.gradient.empty()) {
        move_rows(b,
                  "permute backward",
                  {&drows},
                  {&x_.gradient},
                  {.whole = &x_.gradient, .part = part_, .adds = true});
        return;
    }
    const Value dx = gradient_of_whole(b);
    permutation_operators(b,
                          "permute operators backward",
                          drows,
                          bytes_on_rank(b, dx) + bytes_of_map(b, size_bytes(Dtype::fp32)),
                          kPermuteBackwardOperators);
    // index_add_ of index_select's gradient, and scatter_add_ below (PyTorch, Indexing.cu and
    // ScatterGatherKernel.cu). Their rate is assumed to be that of other such kernels (cast.h):
    // 64 million sums in bf16 take index_add_ 1.5 to 3.4 times the 0.12 ms of a kernel by TMA on
    // GB200 (pytorch pull requests 182675 and 183479).
    Value from = drows;
    if (moves_twice(b)) {
        from = b.value_like(drows,
                            "rows by token backward",
                            drows.shape[kWidth],
                            drows.layout,
                            Lifetime::slot,
                            drows.dtype);
        b.framework_ops("zeros of rows", drows.tensor, bytes_on_rank(b, drows), 1);
        move_rows(b, "rows by token backward", {&drows}, {&from}, {.placed = &drows});
    }
    move_rows(b,
              "permute backward",
              {&from},
              {&dx},
              {.whole = &dx, .part = part_, .placed = b.plan.moe_permute_fusion ? nullptr : &from});
    if (x_.gradient.empty()) {
        x_.gradient = dx;
    } else {
        add_gradient(b, x_, dx);
    }
}

void UnpermuteNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    if (part_.number == 0) {
        y_.value = b.value("unpermute",
                           rows_.value.shape[kWidth],
                           with(rows_.value.layout, Placement::routed, partial()),
                           Lifetime::slot);
    }
    permutation_operators(
        b, "unpermute operators", rows_.value, bytes_on_rank(b, y_.value), kUnpermuteOperators);
    Value from = rows_.value;
    if (moves_twice(b)) {
        by_token_ = b.rows_value("unpermute by token",
                                 rows_.value.rows,
                                 rows_.value.shape[kWidth],
                                 rows_.value.layout,
                                 saved(),
                                 rows_.value.dtype);
        move_rows(b, "unpermute by token", {&rows_.value}, {&by_token_}, {.placed = &by_token_});
        from = by_token_;
        // Zeros before the scatter, and the product with the weights.
        b.framework_ops("weighed rows", from.tensor, 3 * bytes_on_rank(b, from), 2);
    }
    move_rows(b,
              "unpermute",
              {&from},
              {&y_.value},
              {.whole = &y_.value,
               .part = part_,
               .adds = part_.number > 0,
               .placed = b.plan.moe_permute_fusion ? nullptr : &from});
    // The compensation of a token's distance from the mean of its bucket (section 4.3 there): it
    // reads the token and the mean, and writes the sum.
    if (b.plan.moe_lsh_compression_rate < 1 && part_.number + 1 == part_.of) {
        pass_over_tokens(b, "residuals of tokens", y_.value, 3, kPermutes);
    }
}

void UnpermuteNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& rows = rows_.value;
    rows_.gradient = b.rows_value("unpermute backward",
                                  rows.rows,
                                  rows.shape[kWidth],
                                  with(rows.layout, Placement::partial, replicated()),
                                  pass.read_later(),
                                  rows.dtype);
    if (moves_twice(b)) {
        const Value by_token = b.value_like(rows,
                                            "unpermute by token backward",
                                            rows.shape[kWidth],
                                            rows_.gradient.layout,
                                            Lifetime::slot,
                                            rows.dtype);
        move_rows(
            b, "unpermute by token backward", {&y_.gradient}, {&by_token}, {.placed = &by_token});
        // The products with the weights and with the rows, and the sums of the latter.
        b.framework_ops("weighed rows backward", by_token_.tensor, 6 * bytes_on_rank(b, rows), 3);
        move_rows(b, "unpermute backward", {&by_token}, {&rows_.gradient}, {.placed = &by_token});
        return;
    }
    move_rows(b,
              "unpermute backward",
              {&y_.gradient},
              {&rows_.gradient},
              {.whole = &y_.gradient, .part = part_});
}

}  // namespace orrery
