// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/expert_moves.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "kernels/cast/cast.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/gemm/grouped_gemm.h"
#include "models/blocks/expert_products.h"
#include "models/segments/relayout.h"
#include "network/collectives/routed_rows.h"

namespace orrery {
namespace {

constexpr auto kRowsMove = Cause::memory_bound_kernels;

Layout with(Layout layout, Placement from, DigitPlacement to) {
    for (DigitPlacement& p : layout) {
        p = p.placement == from ? to : p;
    }
    return layout;
}

std::int64_t bytes_on_rank(const BlockBuilder& b, const Value& v) {
    return local_elements(v.shape, v.layout, b.layouts.mesh) * size_bytes(v.dtype);
}

std::uint8_t number_of(const ParallelPlan& plan) {
    return static_cast<std::uint8_t>(static_cast<int>(plan.moe_token_dispatcher_type) + 1);
}

std::int64_t tokens_of_rank(const BlockBuilder& b) {
    return b.local_extent(b.model.seq_length, kSequence, b.layouts.residual) *
           b.plan.micro_batch_size;
}

// LSH-MoE hashes each token six times (Nie et al., NeurIPS 2024, section 4): a random rotation,
// whose largest coordinate is the bucket. The rotation is assumed to be pseudo-random (Andoni et
// al., 2015), which reads and writes the tokens.
constexpr std::int64_t kHashes = 6;

// The rows of one part that remain after hashing has merged similar rows.
std::int64_t left_of(const ParallelPlan& plan, std::int64_t rows, std::int64_t parts) {
    const double share = plan.moe_lsh_compression_rate / static_cast<double>(parts);
    return share == 1 ? rows
                      : static_cast<std::int64_t>(std::ceil(static_cast<double>(rows) * share));
}

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

std::int64_t bytes_of_map(const BlockBuilder& b, std::int64_t element) {
    return tokens_of_rank(b) * b.model.num_experts * element;
}

// The call of the library that moves these rows.
RowExchange exchange_call(
    const BlockBuilder& b, const Value& v, std::int64_t layer, bool combine, std::int64_t parts) {
    const std::int64_t width = v.shape[kWidth];
    const std::int64_t scales =
        v.dtype == Dtype::fp8 ? width / kScaledBlock * size_bytes(Dtype::fp32) : 0;
    const bool consecutive = b.plan.moe_router_load == RouterLoad::consecutive;
    const bool limited =
        b.model.moe_router_num_groups > 0 && b.model.moe_router_group_topk > 0 && !consecutive;
    RowExchange call{
        .dispatcher = number_of(b.plan),
        .combine = combine,
        .choices = static_cast<std::uint16_t>(b.model.moe_router_topk),
        .server_limit = static_cast<std::uint16_t>(limited ? b.model.moe_router_group_topk : 0),
        .consecutive = consecutive,
        .experts = static_cast<std::uint32_t>(b.model.num_experts),
        .tokens = left_of(b.plan, tokens_of_rank(b), parts),
        .row = Bytes{width * size_bytes(v.dtype) + scales}};
    LayerLoad load = load_of_layer(b, layer);
    call.shares = std::move(load.shares);
    return call;
}

// Casts the rows to FP8 with a scale for every 128 elements.
Value quantised_rows(BlockBuilder& b, const std::string& name, const Value& v) {
    const Value y =
        b.value_like(v, name + " cast", v.shape[kWidth], v.layout, Lifetime::slot, Dtype::fp8);
    b.kernel(name + " cast",
             block_quantise(b.local_tokens(v), b.local_width(v), false),
             kRowsMove,
             {&v},
             {&y});
    return y;
}

Value dequantised_rows(
    BlockBuilder& b, const std::string& name, const Value& v, Dtype dtype, Lifetime lifetime) {
    const Value y = b.value_like(v, name + " decast", v.shape[kWidth], v.layout, lifetime, dtype);
    b.kernel(name + " decast",
             cast(b.local_tokens(v) * b.local_width(v), Dtype::fp8, dtype),
             kRowsMove,
             {&v},
             {&y});
    return y;
}

}  // namespace

const Dispatcher& dispatcher_of(const ParallelPlan& plan) {
    const Dispatcher* found = numbered_dispatcher(number_of(plan));
    ORRERY_CHECK(found != nullptr);
    return *found;
}

bool sends_rows_once(const ParallelPlan& plan) {
    return dispatcher_of(plan).copies == RowCopies::distinct;
}

bool stops_before_combine(const Transformer& model, const ParallelPlan& plan, std::int64_t layer) {
    return plan.checkpoint_early_stop && model.dropout <= 0 && sends_rows_once(plan) &&
           model.layer_has_experts(layer);
}

std::uint32_t sharing_digits(const LayoutAssignment& layouts) {
    return layouts.expert_digits | layouts.expert_tensor_digits;
}

LayerLoad load_of_layer(const BlockBuilder& b, std::int64_t layer) {
    const std::int64_t shared = b.layouts.mesh.combined_size(sharing_digits(b.layouts));
    return layer_load(b.model, b.plan, layer, tokens_of_rank(b) * shared);
}

TokenRows rows_of_layer(const BlockBuilder& b, std::int64_t layer, std::int64_t parts) {
    const std::int64_t rows = left_of(b.plan, b.model.seq_length * b.model.moe_router_topk, parts);
    LayerLoad load = load_of_layer(b, layer);
    const auto part = [&](double of) {
        return of == 1 ? rows
                       : static_cast<std::int64_t>(std::ceil(static_cast<double>(rows) * of));
    };
    return {.with_tokens = part(load.kept),
            .with_experts = part(load.busiest),
            .layer = layer,
            .of_experts = std::move(load.of_experts)};
}

TokenRows rows_by_rank(const BlockBuilder& b, std::int64_t layer) {
    const auto ranks =
        static_cast<std::uint32_t>(b.layouts.mesh.combined_size(b.layouts.expert_digits));
    const auto experts = static_cast<std::uint32_t>(b.model.num_experts) / ranks;
    const auto choices = static_cast<std::uint32_t>(b.model.moe_router_topk);
    const GroupsHit groups = groups_hit(b.plan.moe_router_load == RouterLoad::consecutive);
    const double hit =
        groups(ranks, experts, choices) * std::max(1.0, load_of_layer(b, layer).busiest);
    const double most = std::min(hit, static_cast<double>(ranks));  // at most every token once
    const auto tokens = static_cast<double>(b.model.seq_length);
    return {.with_tokens = b.model.seq_length,
            .with_experts = static_cast<std::int64_t>(std::ceil(tokens * most)),
            .layer = layer};
}

void move_rows(BlockBuilder& b,
               std::string_view name,
               const std::vector<const Value*>& reads,
               const std::vector<const Value*>& writes,
               const PartOf& part) {
    std::int64_t bytes = 0;
    for (const Value* v : reads) {
        bytes += bytes_on_rank(b, *v) / (v == part.whole ? part.part.of : 1);
    }
    for (const Value* v : writes) {
        bytes += bytes_on_rank(b, *v) / (v == part.whole ? part.part.of : 1);
    }
    const Value& rows = *writes.front();
    KernelCall call = transpose(b.local_tokens(rows), b.local_width(rows), rows.dtype);
    if (part.one_by_one) {
        const Value& from = *reads.front();
        call = converting(b.local_tokens(from) * b.local_width(from), from.dtype, rows.dtype);
    }
    call.bytes = bytes;
    if (part.adds) {
        b.kernel(name, call, kRowsMove, reads, {}, {}, {part.whole->tensor});
    } else {
        b.kernel(name, call, kRowsMove, reads, writes);
    }
}

void MoveNode::forward(ForwardPass& pass) {
    Value rows = x_.value;
    std::uint32_t ready = pass.b.ops.size();
    if (forward_maker_ != nullptr) {
        rows.tensor = forward_maker_->operand();
        ready = forward_maker_->begin();
    }
    y_.value = moved(pass.b, name_, rows, target(pass.b), kept(), ready);
}

void MoveNode::backward(BackwardPass& pass) {
    const Layout back = with(x_.value.layout, Placement::partial, replicated());
    // Deferred gradients of weights run beside the exchange, that of the rows' weights included.
    // The host launches them first (Megatron-Core's TransformerLayerSchedulePlan.run()).
    Value gradient = y_.gradient;
    std::uint32_t ready = pass.b.ops.size();
    if (backward_maker_ != nullptr) {
        gradient.tensor = backward_maker_->operand();
        ready = backward_maker_->begin();
    }
    if (pass.b.plan.delay_wgrad_compute && pass.deferred != nullptr) {
        run_delayed(pass.b, *pass.deferred);
    }
    const Value dx = moved(pass.b,
                           name_ + " backward",
                           gradient,
                           back,
                           keeps_ ? Lifetime::slot : pass.read_later(),
                           ready);
    if (x_.gradient.empty()) {
        x_.gradient = dx;
    } else {
        add_gradient(pass.b, x_, dx);
    }
}

bool MoveNode::left_out_at_end(const BlockBuilder& b) const {
    return to_ == Destination::residual && stops_before_combine(b.model, b.plan, layer_);
}

Layout MoveNode::target(const BlockBuilder& b) const {
    return to_ == Destination::experts     ? b.layouts.expert_rows
           : to_ == Destination::all_ranks ? b.layouts.expert_tokens
                                           : b.layouts.residual;
}

// torch.distributed's exchange waits for all earlier work of the compute stream.
Value MoveNode::moved(BlockBuilder& b,
                      std::string_view name,
                      const Value& v,
                      const Layout& to,
                      Lifetime lifetime,
                      std::uint32_t ready) {
    const std::string text{name};
    Value rows = v;
    const bool of_rows = to_ != Destination::all_ranks;
    const bool to_experts = digits_with(to, Placement::routed) != 0;
    if (!rows.of_experts()) {
        rows.rows = of_rows && sends_rows_once(b.plan)
                        ? rows_by_rank(b, layer_)
                        : TokenRows{v.shape[kSequence], v.shape[kSequence]};
    }
    const bool moves = !transition(rows.layout, to).empty();
    const bool quantises = moves && of_rows && to_experts && v.shape[kWidth] > kScaledBlock &&
                           b.plan.moe_dispatch_dtype == Dtype::fp8 && v.dtype != Dtype::fp8;
    if (quantises) {
        rows = quantised_rows(b, text, rows);
    }
    // A part waits only for its own rows.
    const std::uint32_t before = quantises ? b.ops.size() : ready;
    if (moves && !b.plan.moe_shared_expert_overlap && parts_ == 1 && before > 0) {
        b.ops.next_waits_for(before - 1);
    }
    const Dispatcher& by = dispatcher_of(b.plan);
    const RowExchange exchange =
        of_rows && moves ? exchange_call(b, rows, layer_, !to_experts, parts_) : RowExchange{};
    // Counts of an all-to-all by NCCL are ops of their own (RouterNode), and so is HybridEP's map.
    const bool alone = by.sms == 0 || (to_experts && b.plan.moe_token_dispatcher_type ==
                                                         TokenDispatcher::hybridep);
    const std::uint32_t calls = alone ? 1 : to_experts ? by.dispatch_calls : by.combine_calls;
    Value result = b.relayout_rows(text,
                                   rows,
                                   to,
                                   quantises ? Lifetime::slot : lifetime,
                                   exchange,
                                   static_cast<std::uint8_t>(calls));
    exchange_ = b.ops.size() - 1;
    if (result.tensor == v.tensor && lifetime != Lifetime::slot) {
        b.outlive_slot(result);  // nothing has moved: the value itself is kept
    }
    if (quantises) {
        result = dequantised_rows(b, text, result, v.dtype, lifetime);
    }
    result.rows = to_experts || v.of_experts() ? rows.rows : TokenRows{};
    if (!to_experts && sends_rows_once(b.plan) && of_rows) {
        result.rows = {};  // tokens again
        result.shape[kSequence] = b.model.seq_length;
    }
    return result;
}

TokenRows SortNode::rows(const BlockBuilder& b, RowOrder order) const {
    return order == RowOrder::by_rank && sends_rows_once(b.plan) ? rows_by_rank(b, layer_)
                                                                 : rows_of_layer(b, layer_, parts_);
}

void SortNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& x = x_.value;
    y_.value = b.rows_value(
        name_, rows(b, to_), x.shape[kWidth], x.layout, keeps_ ? saved() : Lifetime::slot, x.dtype);
    move_rows(b, name_, {&x}, {&y_.value});
}

void SortNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& dy = y_.gradient;
    // If products keep the rows of the forward pass, the gradient is needed in this slot only.
    // Otherwise deferred products read the gradient.
    x_.gradient = b.rows_value(name_ + " backward",
                               x_.value.rows,
                               dy.shape[kWidth],
                               dy.layout,
                               keeps_ ? Lifetime::slot : pass.read_later(),
                               dy.dtype);
    move_rows(b, name_ + " backward", {&dy}, {&x_.gradient});
}

void PermuteNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const bool gathered = b.plan.moe_token_dispatcher_type == TokenDispatcher::allgather;
    if (b.plan.moe_lsh_compression_rate < 1 && !x_.value.of_experts() && part_.number == 0) {
        pass_over_tokens(b, "hashes of tokens", x_.value, 2 * kHashes, kRowsMove);
    }
    rows_.value = b.rows_value("expert rows",
                               rows_of_layer(b, layer_, part_.of),
                               x_.value.shape[kWidth],
                               gathered ? b.layouts.expert_rows : x_.value.layout,
                               gathered ? saved() : Lifetime::slot,
                               x_.value.dtype);
    permutation_operators(
        b, "permute operators", x_.value, bytes_of_map(b, kSortBytes), kPermuteOperators);
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
    const bool one_by_one = !b.plan.moe_permute_fusion;
    move_rows(b,
              "permute backward",
              {&drows},
              {&dx},
              {.whole = &dx, .part = part_, .one_by_one = one_by_one});
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
    move_rows(b,
              "unpermute",
              {&rows_.value},
              {&y_.value},
              {.whole = &y_.value,
               .part = part_,
               .adds = part_.number > 0,
               .one_by_one = !b.plan.moe_permute_fusion});
    // The compensation of a token's distance from the mean of its bucket (section 4.3 there): it
    // reads the token and the mean, and writes the sum.
    if (b.plan.moe_lsh_compression_rate < 1 && part_.number + 1 == part_.of) {
        pass_over_tokens(b, "residuals of tokens", y_.value, 3, kRowsMove);
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
    move_rows(b,
              "unpermute backward",
              {&y_.gradient},
              {&rows_.gradient},
              {.whole = &y_.gradient, .part = part_});
}

void CarryNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    y_.value = b.rows_value("carried weights",
                            rows_of_layer(b, layer_),
                            1,
                            b.layouts.expert_rows,
                            saved(),
                            x_.value.dtype);
    move_rows(b, "carried weights", {&x_.value}, {&y_.value});
}

void CarryNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    x_.gradient = b.rows_value("carried weights backward",
                               x_.value.rows,
                               1,
                               x_.value.layout,
                               Lifetime::slot,
                               x_.value.dtype);
    move_rows(b, "carried weights backward", {&y_.gradient}, {&x_.gradient});
}

}  // namespace orrery
