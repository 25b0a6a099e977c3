// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/fused_experts.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/expert_rows/expert_rows.h"
#include "models/blocks/expert_moves.h"
#include "models/experts/router_load.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

constexpr auto kMovesRows = Cause::memory_bound_kernels;

// The most tokens of one rank that an expert takes; 0: no limit.
std::int64_t capacity_of(const BlockBuilder& b, std::int64_t tokens) {
    const double factor = b.plan.moe_expert_capacity_factor;
    return factor > 0
               ? expert_capacity(tokens, b.model.moe_router_topk, b.model.num_experts, factor)
               : 0;
}

ExpertRows expert_rows(const BlockBuilder& b, const Value& tokens, bool weights) {
    return {.tokens = b.local_tokens(tokens),
            .width = b.local_width(tokens),
            .k = b.model.moe_router_topk,
            .experts = b.model.num_experts,
            .weights = weights};
}

// A row for each expert of each token.
TokenRows all_rows(const BlockBuilder& b) {
    const std::int64_t rows = b.model.seq_length * b.model.moe_router_topk;
    return {.with_tokens = rows, .with_experts = rows};
}

TensorId counts_tensor(BlockBuilder& b,
                       std::string_view name,
                       Lifetime lifetime,
                       std::int64_t ranks = 1) {
    const std::int64_t counts = b.model.num_experts * ranks;
    return b.ops.tables().tensor({.name = std::string{name},
                                  .parameter = {},
                                  .dtype = Dtype::int32,
                                  .kind = TensorKind::communication,
                                  .lifetime = b.recomputing ? Lifetime::slot : lifetime,
                                  .global_shape = {counts},
                                  .layout = Layout(b.layouts.mesh.digits().size()),
                                  .bytes = Bytes{counts * size_bytes(Dtype::int32)}});
}

Cause cause_of(const BlockBuilder& b) {
    return b.recomputing ? Cause::recomputation : kMovesRows;
}

// The digits whose ranks have different tokens.
std::uint32_t token_digits(const LayoutAssignment& layouts) {
    std::uint32_t digits = 0;
    for (std::uint32_t digit = 0; digit < layouts.residual.size(); ++digit) {
        const bool apart = layouts.residual[digit].placement == Placement::shard;
        digits |= apart && layouts.mesh.size(digit) > 1 ? 1u << digit : 0u;
    }
    return digits;
}

}  // namespace

RouterShape router_shape(const Transformer& model, std::int64_t tokens, bool biased) {
    const bool grouped = model.moe_router_num_groups > 0;
    return {.tokens = tokens,
            .experts = model.num_experts,
            .k = model.moe_router_topk,
            .groups = grouped ? model.moe_router_num_groups : 1,
            .kept_groups = grouped ? model.moe_router_group_topk : 1,
            .score = model.moe_router_score_function == RouterScoreFunction::sigmoid
                         ? RouterScore::sigmoid
                         : RouterScore::softmax,
            .biased = biased};
}

// Experts are numbered rank by rank. The counts for one rank are therefore contiguous, and the same
// number of counts returns.
void FusedRouterNode::count(BlockBuilder& b, TokenRows::Counts& counts) {
    const std::int64_t tokens = b.local_tokens(logits_);
    const std::int64_t capacity = capacity_of(b, tokens);
    counts.chosen = chosen_.tensor;
    counts.sent = counts.received = counts.held = counts_tensor(b, "tokens of experts", saved());
    OpSpec spec{.name = "tokens of experts",
                .stream = kComputeStream,
                .cause = cause_of(b),
                .reads = {chosen_.tensor},
                .writes = {counts.sent},
                .accumulates = {}};
    if (capacity > 0) {
        const Value kept =
            b.rows_value("kept experts", all_rows(b), 1, logits_.layout, saved(), Dtype::int32);
        counts.chosen = kept.tensor;
        spec.reads.push_back(weights_.value.tensor);
        spec.writes.push_back(kept.tensor);
    }
    if (p_.router_state && !b.recomputing) {
        spec.accumulates = {p_.router_state->load};
    }
    b.ops.kernel(expert_counts(tokens, b.model.num_experts, b.model.moe_router_topk, capacity),
                 spec);
    const auto tell = [&](CollectiveKind kind, std::uint32_t digits, TensorId from, TensorId to) {
        const Tensor& told = b.ops.tables().program().tensors[index(to)];
        emit(b.ops,
             {.step = {.kind = kind, .digits = digits}, .to = {}, .elements = told.global_shape[0]},
             {.traffic = Traffic::expert, .wire = Codec{Dtype::int32}},
             {.name = kind == CollectiveKind::all_to_all ? "tokens of experts exchange"
                                                         : "tokens of experts gather",
              .reads = {from},
              .writes = {to},
              .accumulates = {}});
    };
    const std::uint32_t sharing = b.layouts.expert_digits;
    if (b.layouts.mesh.combined_size(sharing) > 1) {
        counts.received = counts.held = counts_tensor(b, "tokens of own experts", saved());
        tell(CollectiveKind::all_to_all, sharing, counts.sent, counts.received);
    }
    const std::uint32_t splitting = b.layouts.expert_tensor_digits;
    const std::int64_t ranks = b.layouts.mesh.combined_size(splitting);
    if (ranks > 1) {
        counts.held = counts_tensor(b, "tokens of split experts", saved(), ranks);
        tell(CollectiveKind::all_gather, splitting, counts.received, counts.held);
    }
}

void FusedRouterNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const RouterState* const state = p_.router_state ? &*p_.router_state : nullptr;
    logits_ = b.product("router", x_.value, p_.router, saved(), 1, nullptr, &p_.router_bias);
    const auto of_choices = [&](std::string_view name, Dtype dtype) {
        return b.rows_value(name, all_rows(b), 1, logits_.layout, saved(), dtype);
    };
    weights_.value = of_choices("expert weights", Dtype::fp32);
    chosen_ = of_choices("chosen experts", Dtype::int32);
    OpSpec spec{.name = "router choice",
                .stream = kComputeStream,
                .cause = cause_of(b),
                .reads = {logits_.tensor},
                .writes = {weights_.value.tensor, chosen_.tensor},
                .accumulates = {}};
    const bool biased = state != nullptr && state->bias.has_value();
    const RouterShape shape = router_shape(b.model, b.local_tokens(logits_), biased);
    if (shape.biased) {
        spec.reads.push_back(*state->bias);
    }
    b.ops.kernel(router_forward(shape, logits_.dtype), spec);
    TokenRows::Counts counts;
    count(b, counts);
    weights_.value.rows.counts = counts;
}

void FusedRouterNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value dlogits =
        b.value("router backward", logits_.shape[kWidth], logits_.layout, pass.read_later());
    RouterShape shape = router_shape(b.model, b.local_tokens(logits_), false);
    shape.balanced = b.model.moe_aux_loss_coeff > 0;
    std::vector<TensorId> scalars;
    if (shape.balanced) {
        scalars = {b.ops.tables().scalars()};
    }
    b.kernel("router backward",
             router_backward(shape, logits_.dtype),
             kMovesRows,
             {&weights_.gradient, &logits_, &chosen_},
             {&dlogits},
             scalars);
    const bool first = x_.gradient.empty();
    x_.gradient =
        b.gradient_product("router dgrad", dlogits, p_.router, first ? nullptr : &x_.gradient);
    weight_gradient_op(b, "router wgrad", x_.value, dlogits, p_.router, pass.deferred);
    if (p_.router_bias.elements > 0) {
        b.bias_gradient("router bias gradient", dlogits, p_.router_bias);
    }
}

// All choices of a token may fall on experts of the same rank.
TokenRows FusedPermuteNode::rows_of(const BlockBuilder& b) const {
    TokenRows rows = rows_of_layer(b, layer_);
    rows.with_tokens = all_rows(b).with_tokens;
    rows.counts = weights_.value.rows.counts;
    const std::int64_t ranks = b.layouts.mesh.combined_size(b.layouts.expert_digits);
    const std::int64_t experts = b.model.num_experts / ranks;
    const std::int64_t tokens = b.local_tokens(x_.value);
    const std::int64_t capacity = capacity_of(b, tokens);
    const std::int64_t of_rank = tokens * std::min(b.model.moe_router_topk, experts);
    rows.most = capacity > 0 ? std::min(of_rank, experts * capacity) : of_rank;
    return rows;
}

void FusedPermuteNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& x = x_.value;
    const Value& weights = weights_.value;
    const TokenRows rows = rows_of(b);
    rows_.value =
        b.rows_value("expert rows", rows, x.shape[kWidth], x.layout, Lifetime::slot, x.dtype);
    row_weights_.value =
        b.rows_value("weights of rows", rows, 1, weights.layout, Lifetime::slot, weights.dtype);
    b.kernel("permute",
             permute(expert_rows(b, x, true), x.dtype),
             kMovesRows,
             {&x, &weights},
             {&rows_.value, &row_weights_.value},
             {rows.counts->chosen});
}

void FusedPermuteNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& drows = rows_.gradient;
    const Value dx =
        b.value("permute backward", x_.value.shape[kWidth], x_.value.layout, Lifetime::slot);
    weights_.gradient = b.rows_value("expert weights gradient",
                                     all_rows(b),
                                     1,
                                     weights_.value.layout,
                                     Lifetime::slot,
                                     weights_.value.dtype);
    b.kernel("permute backward",
             unpermute(expert_rows(b, dx, true), dx.dtype),
             kMovesRows,
             {&drows, &row_weights_.gradient},
             {&dx, &weights_.gradient},
             {rows_.value.rows.counts->chosen});
    add_gradient(b, x_, dx);
}

void FusedUnpermuteNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& rows = rows_.value;
    y_.value = b.value("unpermute", rows.shape[kWidth], rows.layout, Lifetime::slot);
    b.kernel("unpermute",
             unpermute(expert_rows(b, y_.value, false), rows.dtype),
             kMovesRows,
             {&rows},
             {&y_.value},
             {rows.rows.counts->chosen});
}

void FusedUnpermuteNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& dy = y_.gradient;
    const Value& rows = rows_.value;
    rows_.gradient = b.rows_value("unpermute backward",
                                  rows.rows,
                                  rows.shape[kWidth],
                                  dy.layout,
                                  pass.read_later(),
                                  rows.dtype);
    b.kernel("unpermute backward",
             permute(expert_rows(b, dy, false), dy.dtype),
             kMovesRows,
             {&dy},
             {&rows_.gradient},
             {rows.rows.counts->chosen});
}

void create_router_states(ProgramTables& tables,
                          const Transformer& model,
                          const ParallelPlan& plan,
                          const LayoutAssignment& layouts,
                          Chunk& chunk) {
    const auto tensor = [&](Tensor of) {
        of.dtype = Dtype::fp32;
        of.bytes = Bytes{of.global_shape[1] * size_bytes(Dtype::fp32)};
        return tables.tensor(std::move(of));
    };
    for (std::size_t i = 0; i < chunk.layers.size() && plan.moe_fused_kernels; ++i) {
        const std::int64_t layer = chunk.shape.first_layer + static_cast<std::int64_t>(i);
        if (!model.layer_has_experts(layer)) {
            continue;
        }
        RouterState state;
        state.load = tensor({.name = fmt::format("layers.{}.mlp.router.load", layer),
                             .parameter = {},
                             .kind = TensorKind::workspace,
                             .lifetime = Lifetime::step,
                             .global_shape = {1, 2 * model.num_experts},
                             .layout = along(layouts.mesh, token_digits(layouts), partial()),
                             .bytes = {}});
        if (model.moe_router_bias_update_rate > 0) {
            const std::string name = fmt::format("layers.{}.mlp.router.expert_bias", layer);
            state.bias = tensor({.name = name,
                                 .parameter = name,
                                 .kind = TensorKind::optimizer,
                                 .lifetime = Lifetime::persistent,
                                 .global_shape = {1, model.num_experts},
                                 .layout = along(layouts.mesh, 0, replicated()),
                                 .bytes = {}});
        }
        chunk.layers[i].router_state = state;
    }
}

void lower_router_states(SegmentBuilder& b,
                         const LayoutAssignment& layouts,
                         std::span<Chunk* const> chunks) {
    OpSpec loads{.name = "tokens of experts reduce", .reads = {}, .writes = {}, .accumulates = {}};
    std::vector<RouterState> states;
    std::int64_t elements = 0;
    for (const Chunk* chunk : chunks) {
        for (const LayerParameters& layer : chunk->layers) {
            if (layer.router_state) {
                states.push_back(*layer.router_state);
                loads.accumulates.push_back(states.back().load);
                elements += b.tables().program().tensors[index(states.back().load)].global_shape[1];
            }
        }
    }
    const std::uint32_t digits = token_digits(layouts);
    if (!states.empty() && digits != 0) {
        emit(b,
             {.step = {.kind = CollectiveKind::all_reduce, .digits = digits},
              .to = {},
              .elements = elements},
             {.traffic = Traffic::step_scalar, .wire = Dtype::fp32},
             loads);
    }
    for (const RouterState& state : states) {
        if (state.bias) {
            const Tensor& bias = b.tables().program().tensors[index(*state.bias)];
            b.kernel(expert_bias(bias.global_shape[1]),
                     {.name = "expert bias",
                      .stream = kComputeStream,
                      .cause = Cause::optimizer,
                      .reads = {state.load, b.tables().scalars()},
                      .writes = {},
                      .accumulates = {*state.bias}});
        }
    }
}

}  // namespace orrery
