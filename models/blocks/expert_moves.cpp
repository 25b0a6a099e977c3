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

std::uint8_t number_of(const ParallelPlan& plan) {
    return static_cast<std::uint8_t>(static_cast<int>(plan.moe_token_dispatcher_type) + 1);
}

// The rows of one part that remain after hashing has merged similar rows.
std::int64_t left_of(const ParallelPlan& plan, std::int64_t rows, std::int64_t parts) {
    const double share = plan.moe_lsh_compression_rate / static_cast<double>(parts);
    return share == 1 ? rows
                      : static_cast<std::int64_t>(std::ceil(static_cast<double>(rows) * share));
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

Layout with(Layout layout, Placement from, DigitPlacement to) {
    for (DigitPlacement& p : layout) {
        p = p.placement == from ? to : p;
    }
    return layout;
}

std::int64_t bytes_on_rank(const BlockBuilder& b, const Value& v) {
    return local_elements(v.shape, v.layout, b.layouts.mesh) * size_bytes(v.dtype);
}

std::int64_t tokens_of_rank(const BlockBuilder& b) {
    return b.local_extent(b.model.seq_length, kSequence, b.layouts.residual) *
           b.plan.micro_batch_size;
}

const Dispatcher& dispatcher_of(const ParallelPlan& plan) {
    const Dispatcher* found = numbered_dispatcher(number_of(plan));
    ORRERY_CHECK(found != nullptr);
    return *found;
}

bool sends_rows_once(const ParallelPlan& plan) {
    return dispatcher_of(plan).copies == RowCopies::distinct;
}

bool stops_before_combine(const Transformer& model, const ParallelPlan& plan, std::int64_t layer) {
    return plan.checkpoint_early_stop && model.dropout <= 0 && !model.sandwich_norm &&
           sends_rows_once(plan) &&
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
    if (part.placed != nullptr) {
        const Value& of = *part.placed;
        call = converting(b.local_tokens(of) * b.local_width(of), of.dtype, rows.dtype);
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
