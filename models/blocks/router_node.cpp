// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/router_node.h"

#include "kernels/elementwise/elementwise.h"
#include "kernels/softmax/softmax.h"
#include "models/blocks/expert_moves.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

constexpr auto kMovesMemory = Cause::memory_bound_kernels;

// Operators of Megatron-Core's router beside the product and the function of its scores, and how
// many autograd makes of them (moe_utils.py, router.py of core_v0.15.0).
struct RouterKernels {
    // topk_routing_with_score_function: the choice; zeros and scatter of weights; zeros, scatter
    // and two types of choices; their sums. Backward: a gather for the scatter, zeros and scatter
    // for the choice.
    std::uint8_t choice = 8;
    std::uint8_t choice_backward = 3;
    // The loss that balances experts (_apply_aux_loss, switch_load_balancing_loss_func): softmax,
    // choice, zeros and scatter of its own scores, tokens of each expert, summed scores, their
    // product, its sum and scale, and two for the log; and backward.
    std::uint8_t balancing = 11;
    std::uint8_t balancing_backward = 6;
};
// Transformer Engine's fused router: one kernel makes scores, choice and weights. Of the loss, one
// makes the scores and one the loss, each with its backward; tokens of each expert, the scale and
// what the log takes are as before.
constexpr RouterKernels kFusedRouter{
    .choice = 0, .choice_backward = 0, .balancing = 6, .balancing_backward = 2};

// Sigmoids do not add up to 1: a sum, a small term against zero, a quotient. Backward: five of the
// quotient's two operands, the divisor's sum, and the sum of both ways to the scores.
constexpr std::uint8_t kNormalisation = 3;
constexpr std::uint8_t kNormalisationBackward = 7;
// group_limited_topk, in place of one choice: best scores of each group, their sum, the choice of
// groups, zeros and scatter of a mask, its copy for each expert, its type, its inverse, masked
// scores, and the choice.
constexpr std::uint8_t kGroups = 9;
// A bias by which experts are chosen: its sum with the scores, and a gather of the chosen scores.
constexpr std::uint8_t kBias = 2;
// A capacity (apply_router_token_dropping): each expert's choice of tokens, zeros and scatter of a
// mask, its type, and its product with the weights. Without padding, also the conjunction with the
// mask of the tokens' choices. Backward: the product's.
constexpr std::uint8_t kDrops = 5;
constexpr std::uint8_t kDropsBackward = 1;
// Tokens of each expert, added up for the step's change of the bias (TopKRouter.routing).
constexpr std::uint8_t kBiasLoads = 2;

RouterKernels kernels_of(const BlockBuilder& b) {
    const Transformer& m = b.model;
    const bool fused = b.plan.moe_router_fusion;
    RouterKernels kernels = fused ? kFusedRouter : RouterKernels{};
    const auto add = [](std::uint8_t& count, std::uint8_t more) {
        count = static_cast<std::uint8_t>(count + more);
    };
    if (b.plan.moe_expert_capacity_factor > 0) {
        add(kernels.choice, kDrops + (b.plan.moe_pad_expert_input_to_capacity ? 0 : 1));
        add(kernels.choice_backward, kDropsBackward);
    }
    if (m.moe_router_bias_update_rate > 0) {
        add(kernels.choice, fused ? kBiasLoads : kBias + kBiasLoads);
    }
    if (fused) {
        return kernels;
    }
    if (m.moe_router_group_topk > 0) {
        add(kernels.choice, kGroups);
    }
    if (m.moe_router_score_function == RouterScoreFunction::sigmoid) {
        for (std::uint8_t* const count : {&kernels.choice, &kernels.balancing}) {
            add(*count, kNormalisation);
        }
        for (std::uint8_t* const count : {&kernels.choice_backward, &kernels.balancing_backward}) {
            add(*count, kNormalisationBackward);
        }
    }
    return kernels;
}

// Kernels that make the counts of an all-to-all (token_dispatcher.py, preprocess): sums of the
// chosen experts by expert and by rank, two of the gathered ones, and three copies to the host.
constexpr std::uint8_t kCountKernels = 8;

KernelCall scores(const BlockBuilder& b, const Value& logits, bool forward) {
    const SoftmaxShape shape{.heads = 1,
                             .seq_q = b.local_tokens(logits),
                             .seq_kv = b.model.num_experts,
                             .causal = false};
    return forward ? softmax_forward(shape, Dtype::fp32) : softmax_backward(shape, Dtype::fp32);
}

TensorId sent_tensor(BlockBuilder& b, std::string_view name, std::int64_t number, Dtype dtype) {
    return b.ops.tables().tensor({.name = std::string{name},
                                  .parameter = {},
                                  .dtype = dtype,
                                  .kind = TensorKind::communication,
                                  .lifetime = Lifetime::slot,
                                  .global_shape = {number},
                                  .layout = Layout(b.layouts.mesh.digits().size()),
                                  .bytes = Bytes{number * size_bytes(dtype)}});
}

TensorId counts(BlockBuilder& b, std::string_view name, std::int64_t ranks) {
    return sent_tensor(b, name, b.model.num_experts * ranks, Dtype::int32);
}

// What HybridEP's kernel writes for a token (hybrid_ep_backend.cuh, scan): its place on its rank,
// and for each of the rank's experts a place and a flag.
constexpr std::int64_t kPlaceBytes = 4;
constexpr std::int64_t kExpertPlaceBytes = 4 + 1;

}  // namespace

void RouterNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    logits_ = b.product("router", x_.value, weight_, saved(), 1, nullptr, &bias_);
    const std::int64_t tokens = b.local_tokens(logits_);
    b.kernel("router scores", scores(b, logits_, true), kMovesMemory, {}, {}, {}, {logits_.tensor});
    weights_.value = b.rows_value(
        "expert weights", rows_of_layer(b, layer_), 1, logits_.layout, saved(), Dtype::fp32);
    const RouterKernels kernels = kernels_of(b);
    OpSpec spec{.name = "router choice",
                .stream = kComputeStream,
                .cause = b.recomputing ? Cause::recomputation : kMovesMemory,
                .reads = {logits_.tensor},
                .writes = {weights_.value.tensor},
                .accumulates = {},
                .launches = b.calls_of_operators(kernels.choice)};
    b.ops.kernel(transpose(tokens, b.model.num_experts, Dtype::fp32), spec);
    small_kernels(b, "router balance", kernels.balancing, spec.cause);
    b.ops.capture(b.plan.captures(CudaGraphPart::moe_preprocess));
    const bool counts = !b.plan.moe_pad_expert_input_to_capacity;
    if (counts && dispatcher_of(b.plan).route != DispatchRoute::everyone) {
        read_ = exchange_counts(b);
    }
}

void RouterNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const RouterKernels kernels = kernels_of(b);
    if (kernels.choice_backward > 0) {
        small_kernels(b, "router choice backward", kernels.choice_backward, kMovesMemory);
    }
    const Value dlogits =
        b.value("router scores backward", logits_.shape[kWidth], logits_.layout, pass.read_later());
    b.kernel("router scores backward",
             scores(b, logits_, false),
             kMovesMemory,
             {&logits_, &weights_.gradient},
             {&dlogits});
    small_kernels(b, "router balance backward", kernels.balancing_backward, kMovesMemory);
    const bool first = x_.gradient.empty();
    const Value dx =
        b.gradient_product("router dgrad", dlogits, weight_, first ? nullptr : &x_.gradient);
    x_.gradient = dx;
    weight_gradient_op(b, "router wgrad", x_.value, dlogits, weight_, pass.deferred);
    if (bias_.elements > 0) {
        b.bias_gradient("router bias gradient", dlogits, bias_);
    }
}

void RouterNode::small_kernels(BlockBuilder& b,
                               std::string_view name,
                               std::uint8_t launches,
                               Cause cause) const {
    b.ops.kernel(transpose(b.local_tokens(logits_), b.model.num_experts, Dtype::fp32),
                 {.name = std::string{name},
                  .stream = kComputeStream,
                  .cause = cause,
                  .reads = {logits_.tensor},
                  .writes = {},
                  .accumulates = {},
                  .launches = b.calls_of_operators(launches)});
}

std::optional<TensorId> RouterNode::exchange_counts(BlockBuilder& b) const {
    const std::uint32_t digits = sharing_digits(b.layouts);
    const std::int64_t ranks = b.layouts.mesh.combined_size(digits);
    const TensorId own = counts(b, "tokens of experts", 1);
    OpSpec spec{.name = "tokens of experts",
                .stream = kComputeStream,
                .cause = b.recomputing ? Cause::recomputation : kMovesMemory,
                .reads = {weights_.value.tensor},
                .writes = {own},
                .accumulates = {},
                .launches = b.calls_of_operators(dispatcher_of(b.plan).sms == 0 ? kCountKernels
                                                                                : std::uint8_t{1})};
    b.ops.kernel(transpose(1, b.model.num_experts, Dtype::int32), spec);
    // A library of its own exchanges counts in its first kernel, or gathers a map (RoutingMapNode).
    TensorId read = own;
    const Dispatcher& by = dispatcher_of(b.plan);
    if (ranks > 1 && by.host_sync && by.sms == 0) {
        read = counts(b, "tokens of all experts", ranks);
        emit(b.ops,
             {.step = {.kind = CollectiveKind::all_gather, .digits = digits},
              .to = {},
              .elements = b.model.num_experts * ranks},
             {.traffic = Traffic::expert, .wire = Codec{Dtype::int32}},
             {.name = "tokens of experts gather",
              .reads = {own},
              .writes = {read},
              .accumulates = {}});
    }
    // A graph of the whole step has room for as many rows as there may be.
    const bool reads = by.host_sync && !(b.plan.cuda_graphs && by.sms > 0);
    return reads ? std::optional{read} : std::nullopt;
}

void RoutingMapNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const std::uint32_t digits = sharing_digits(b.layouts);
    const std::int64_t ranks = b.layouts.mesh.combined_size(digits);
    if (ranks == 1 || b.plan.moe_token_dispatcher_type != TokenDispatcher::hybridep) {
        return;
    }
    if (!b.plan.cuda_graphs) {
        b.ops.capture(false);  // the dispatch is behind the graph of the preprocessing
    }
    const std::int64_t tokens = router_.tokens(b) * ranks;
    const std::int64_t flags = tokens * b.model.num_experts;
    const TensorId map = sent_tensor(b, "map of tokens", flags, Dtype::uint8);
    const TensorId numbers = counts(b, "tokens of experts", 1);
    emit(b.ops,
         {.step = {.kind = CollectiveKind::all_gather, .digits = digits},
          .to = {},
          .elements = flags},
         {.traffic = Traffic::expert, .wire = Codec{Dtype::uint8}},
         {.name = "map of tokens gather",
          .reads = {router_.choices()},
          .writes = {map},
          .accumulates = {}});
    KernelCall scan = transpose(tokens, b.model.num_experts, Dtype::uint8);
    scan.bytes =
        flags + tokens * kPlaceBytes + tokens * b.model.num_experts / ranks * kExpertPlaceBytes;
    b.ops.kernel(scan,
                 {.name = "places of rows",
                  .stream = kExpertStream,
                  .cause = b.recomputing ? Cause::recomputation : kMovesMemory,
                  .reads = {map},
                  .writes = {numbers},
                  .accumulates = {}});
    router_.let_host_read(numbers);
}

void HostReadNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const std::optional<TensorId> read = router_.read_by_host();
    if (!read) {
        return;
    }
    b.ops.capture(false);  // the host reads between two graphs
    b.ops.host({.duration = Time{}, .kind = HostWorkKind::restart},
               {.name = "host reads tokens of experts",
                .stream = kExpertStream,
                .cause = Cause::host,
                .reads = {*read},
                .writes = {},
                .accumulates = {},
                .launches = 0});
}

}  // namespace orrery
