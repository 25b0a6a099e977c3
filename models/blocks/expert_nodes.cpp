// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/expert_nodes.h"

#include <algorithm>

#include "kernels/elementwise/elementwise.h"
#include "kernels/softmax/softmax.h"
#include "models/blocks/expert_moves.h"
#include "models/blocks/expert_products.h"
#include "models/blocks/fused_experts.h"
#include "models/blocks/layer_nodes.h"
#include "models/experts/router_load.h"
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
// Tokens of each expert, added up for the step's change of the bias (TopKRouter.routing).
constexpr std::uint8_t kBiasLoads = 2;

RouterKernels kernels_of(const BlockBuilder& b) {
    const Transformer& m = b.model;
    const bool fused = b.plan.moe_router_fusion;
    RouterKernels kernels = fused ? kFusedRouter : RouterKernels{};
    const auto add = [](std::uint8_t& count, std::uint8_t more) {
        count = static_cast<std::uint8_t>(count + more);
    };
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

// Scores of all experts, the choice among them, and the weights of the chosen ones. Before rows can
// travel, the ranks tell each other how many, and the host, which issues the exchange, reads it.
class RouterNode : public Node {
public:
    RouterNode(Parameter& weight, Parameter& bias, std::int64_t layer, Edge& x, Edge& weights)
        : weight_(weight), bias_(bias), layer_(layer), x_(x), weights_(weights) {}

    void forward(ForwardPass& pass) override {
        BlockBuilder& b = pass.b;
        logits_ = b.product("router", x_.value, weight_, saved(), 1, nullptr, &bias_);
        const std::int64_t tokens = b.local_tokens(logits_);
        b.kernel(
            "router scores", scores(b, true), kMovesMemory, {}, {}, {}, {logits_.tensor});
        weights_.value = b.rows_value(
            "expert weights", rows_of_layer(b, layer_), 1, logits_.layout, saved(), Dtype::fp32);
        const RouterKernels kernels = kernels_of(b);
        OpSpec spec{.name = "router choice",
                    .stream = kComputeStream,
                    .cause = b.recomputing ? Cause::recomputation : kMovesMemory,
                    .reads = {logits_.tensor},
                    .writes = {weights_.value.tensor},
                    .accumulates = {},
                    .launches = kernels.choice};
        b.ops.kernel(transpose(tokens, b.model.num_experts, Dtype::fp32), spec);
        small_kernels(b, "router balance", kernels.balancing, spec.cause);
        b.ops.capture(b.plan.captures(CudaGraphPart::moe_preprocess));
        if (dispatcher_of(b.plan).route != DispatchRoute::everyone) {
            exchange_counts(b);
        }
    }

    void backward(BackwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const RouterKernels kernels = kernels_of(b);
        if (kernels.choice_backward > 0) {
            small_kernels(b, "router choice backward", kernels.choice_backward, kMovesMemory);
        }
        const Value dlogits = b.value(
            "router scores backward", logits_.shape[kWidth], logits_.layout, pass.read_later());
        b.kernel("router scores backward",
                 scores(b, false),
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

private:
    // Small kernels over the scores: their number is what they cost.
    void small_kernels(BlockBuilder& b,
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
                      .launches = launches});
    }
    KernelCall scores(const BlockBuilder& b, bool forward) const {
        const SoftmaxShape shape{.heads = 1,
                                 .seq_q = b.local_tokens(logits_),
                                 .seq_kv = b.model.num_experts,
                                 .causal = false};
        return forward ? softmax_forward(shape, Dtype::fp32) : softmax_backward(shape, Dtype::fp32);
    }

    TensorId counts(BlockBuilder& b, std::string_view name, std::int64_t ranks) const {
        const std::int64_t number = b.model.num_experts * ranks;
        return b.ops.tables().tensor({.name = std::string{name},
                                      .parameter = {},
                                      .dtype = Dtype::int32,
                                      .kind = TensorKind::communication,
                                      .lifetime = Lifetime::slot,
                                      .global_shape = {number},
                                      .layout = Layout(b.layouts.mesh.digits().size()),
                                      .bytes = Bytes{number * size_bytes(Dtype::int32)}});
    }

    void exchange_counts(BlockBuilder& b) const {
        const std::uint32_t digits = sharing_digits(b.layouts);
        const std::int64_t ranks = b.layouts.mesh.combined_size(digits);
        const TensorId own = counts(b, "tokens of experts", 1);
        OpSpec spec{.name = "tokens of experts",
                    .stream = kComputeStream,
                    .cause = b.recomputing ? Cause::recomputation : kMovesMemory,
                    .reads = {weights_.value.tensor},
                    .writes = {own},
                    .accumulates = {},
                    .launches = dispatcher_of(b.plan).sms == 0 ? kCountKernels : std::uint8_t{1}};
        b.ops.kernel(transpose(1, b.model.num_experts, Dtype::int32), spec);
        // A library of its own exchanges counts in its first kernel.
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
        if (!by.host_sync || (b.plan.cuda_graphs && by.sms > 0)) {
            return;
        }
        b.ops.capture(false);  // the host reads between two graphs
        b.ops.host({.duration = Time{}, .kind = HostWorkKind::restart},
                   {.name = "host reads tokens of experts",
                    .stream = kComputeStream,
                    .cause = Cause::host,
                    .reads = {read},
                    .writes = {},
                    .accumulates = {},
                    .launches = 0});
    }

    Parameter& weight_;
    Parameter& bias_;
    std::int64_t layer_;
    Edge& x_;
    Edge& weights_;
    Value logits_;
};

// The edges from a layer's tokens to what its experts read, and back.
struct ExpertPath {
    Edge& inputs;   // of the first product
    Edge& weights;  // of its rows
};

// FP8 products want a multiple of rows for each expert: unless the library that brings rows fills
// them up, a kernel does, and another takes out what its product made (Transformer Engine's
// Fp8Padding and Fp8Unpadding). Equal loads need none.
bool fills_up_rows(const ParallelPlan& plan) {
    return plan.precision == Dtype::fp8 && !plan.moe_fused_kernels &&
           plan.moe_router_load != RouterLoad::balanced && !dispatcher_of(plan).copies_out;
}

// Tokens come to their experts. The backward pass reads rows as they come unless they are filled
// up.
ExpertPath add_dispatch(Tape& tape,
                        const ParallelPlan& plan,
                        const Transformer& model,
                        std::int64_t layer,
                        Edge& x,
                        Edge& own_weights,
                        std::vector<Node*>& all) {
    Edge& weights = tape.edge();
    const bool kept = !fills_up_rows(plan);
    if (plan.moe_fused_kernels) {
        Edge& rows = tape.edge();
        Edge& row_weights = tape.edge();
        Edge& dispatched = tape.edge();
        all.push_back(&tape.add<FusedPermuteNode>(layer, x, own_weights, rows, row_weights));
        all.push_back(
            &tape.add<MoveNode>("dispatch", Destination::experts, layer, rows, dispatched, true));
        all.push_back(&tape.add<MoveNode>(
            "dispatch of weights", Destination::experts, layer, row_weights, weights, true));
        return {dispatched, weights};
    }
    const auto add_weights = [&](Destination to) {
        all.push_back(
            &tape.add<MoveNode>("dispatch of weights", to, layer, own_weights, weights, true));
    };
    if (plan.moe_token_dispatcher_type == TokenDispatcher::allgather) {
        Edge& tokens = tape.edge();
        Edge& rows = tape.edge();
        all.push_back(&tape.add<MoveNode>(
            "expert tokens gather", Destination::all_ranks, layer, x, tokens, false));
        all.push_back(&tape.add<PermuteNode>(layer, tokens, rows));
        add_weights(Destination::all_ranks);
        return {rows, weights};
    }
    Edge& dispatched = tape.edge();
    if (sends_rows_once(plan)) {
        Edge& rows = tape.edge();
        all.push_back(
            &tape.add<MoveNode>("dispatch", Destination::experts, layer, x, dispatched, false));
        all.push_back(&tape.add<SortNode>(
            "copies of rows", RowOrder::by_expert, layer, dispatched, rows, kept));
        all.push_back(&tape.add<CarryNode>(layer, own_weights, weights));
        return {rows, weights};
    }
    Edge& rows = tape.edge();
    const bool sorts =
        model.num_experts > plan.expert_model_parallel_size && plan.expert_model_parallel_size > 1;
    tape.enter(CudaGraphPart::moe_preprocess);
    all.push_back(&tape.add<PermuteNode>(layer, x, rows));
    tape.enter(std::nullopt);
    all.push_back(&tape.add<MoveNode>(
        "dispatch", Destination::experts, layer, rows, dispatched, !sorts && kept));
    add_weights(Destination::experts);
    if (!sorts) {
        return {dispatched, weights};
    }
    Edge& sorted = tape.edge();
    all.push_back(&tape.add<SortNode>(
        "rows by expert", RowOrder::by_expert, layer, dispatched, sorted, kept));
    return {sorted, weights};
}

// What the experts made comes back as sums of each token.
Edge& add_combine(Tape& tape,
                  const ParallelPlan& plan,
                  const Transformer& model,
                  std::int64_t layer,
                  Edge& made,
                  std::vector<Node*>& all) {
    Edge& sums = tape.edge();
    if (plan.moe_fused_kernels) {
        Edge& combined = tape.edge();
        all.push_back(
            &tape.add<MoveNode>("combine", Destination::residual, layer, made, combined, false));
        all.push_back(&tape.add<FusedUnpermuteNode>(combined, sums));
        return sums;
    }
    if (plan.moe_token_dispatcher_type == TokenDispatcher::allgather) {
        Edge& scattered = tape.edge();
        all.push_back(&tape.add<UnpermuteNode>(made, sums));
        all.push_back(&tape.add<MoveNode>(
            "expert sums scatter", Destination::residual, layer, sums, scattered, false));
        return scattered;
    }
    if (sends_rows_once(plan)) {
        Edge& rows = tape.edge();
        all.push_back(
            &tape.add<SortNode>("sums of copies", RowOrder::by_rank, layer, made, rows, false));
        all.push_back(
            &tape.add<MoveNode>("combine", Destination::residual, layer, rows, sums, false));
        return sums;
    }
    const bool sorts =
        model.num_experts > plan.expert_model_parallel_size && plan.expert_model_parallel_size > 1;
    Edge& rows = sorts ? tape.edge() : made;
    if (sorts) {
        all.push_back(
            &tape.add<SortNode>("rows by rank", RowOrder::by_rank, layer, made, rows, false));
    }
    Edge& combined = tape.edge();
    all.push_back(
        &tape.add<MoveNode>("combine", Destination::residual, layer, rows, combined, false));
    all.push_back(&tape.add<UnpermuteNode>(combined, sums));
    return sums;
}

// All parts come back, and are added up.
Edge& combine_parts(Tape& tape,
                    std::int64_t layer,
                    const std::vector<Edge*>& made,
                    ExpertNodes& nodes) {
    const std::int64_t parts = std::ssize(made);
    std::vector<Edge*> combined;
    for (Edge* rows : made) {
        combined.push_back(&tape.edge());
        nodes.all.push_back(&tape.add<MoveNode>(
            "combine", Destination::residual, layer, *rows, *combined.back(), false, parts));
    }
    Edge& sums = tape.edge();
    for (RowPart part{.of = parts}; part.number < parts; ++part.number) {
        nodes.all.push_back(&tape.add<UnpermuteNode>(
            *combined[static_cast<std::size_t>(part.number)], sums, part));
    }
    return sums;
}

// The rows in parts: exchanges of some are beside the products of others. All parts go out before
// the first comes back, as both ways share links (Tutel; FSMoE, Pan et al., ASPLOS 2025).
Edge& add_in_parts(Tape& tape,
                   const ParallelPlan& plan,
                   const Transformer& model,
                   LayerParameters& p,
                   std::int64_t layer,
                   Edge& x,
                   Edge& own_weights,
                   ExpertNodes& nodes) {
    static Parameter none;
    const std::int64_t parts = plan.moe_pipeline_degree;
    const bool sorts =
        model.num_experts > plan.expert_model_parallel_size && plan.expert_model_parallel_size > 1;
    std::vector<Edge*> inputs;
    std::vector<Edge*> weights;
    for (RowPart part{.of = parts}; part.number < parts; ++part.number) {
        Edge& rows = tape.edge();
        Edge& own = tape.edge();
        inputs.push_back(&tape.edge());
        weights.push_back(&tape.edge());
        nodes.all.push_back(&tape.add<PermuteNode>(layer, x, rows, part));
        nodes.all.push_back(&tape.add<MoveNode>(
            "dispatch", Destination::experts, layer, rows, *inputs.back(), !sorts, parts));
        nodes.all.push_back(&tape.add<PermuteNode>(layer, own_weights, own, part));
        nodes.all.push_back(&tape.add<MoveNode>("dispatch of weights",
                                                Destination::experts,
                                                layer,
                                                own,
                                                *weights.back(),
                                                true,
                                                parts));
    }
    std::vector<Edge*> made;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        Edge* rows = inputs[i];
        if (sorts) {
            rows = &tape.edge();
            nodes.all.push_back(&tape.add<SortNode>(
                "rows by expert", RowOrder::by_expert, layer, *inputs[i], *rows, true, parts));
        }
        Edge& fc1 = tape.edge();
        Edge& activated = tape.edge();
        Edge& fc2 = tape.edge();
        nodes.all.push_back(
            &tape.add<ExpertProductNode>("expert fc1", p.expert_fc1, none, *rows, fc1));
        nodes.activation = &tape.add<ActivationNode>(fc1, activated, weights[i]);
        nodes.all.push_back(nodes.activation);
        auto& product =
            tape.add<ExpertProductNode>("expert fc2", p.expert_fc2, none, activated, fc2);
        product.discard_output();
        nodes.fc2 = &product;
        nodes.all.push_back(&product);
        made.push_back(&fc2);
        if (sorts) {
            made.back() = &tape.edge();
            nodes.all.push_back(&tape.add<SortNode>(
                "rows by rank", RowOrder::by_rank, layer, fc2, *made.back(), false, parts));
        }
    }
    return combine_parts(tape, layer, made, nodes);
}

}  // namespace

ExpertBranch add_experts(Tape& tape,
                         const ParallelPlan& plan,
                         const Transformer& model,
                         LayerParameters& p,
                         std::int64_t layer,
                         Edge& x,
                         const std::function<std::vector<Node*>()>& add_shared) {
    static Parameter none;  // the product adds no bias then
    ExpertBranch branch;
    std::vector<Node*>& all = branch.nodes.all;
    if (!plan.moe_shared_expert_overlap) {
        all = add_shared();
    }
    Edge& own_weights = tape.edge();
    tape.enter(CudaGraphPart::moe_router);
    Node* const router =
        plan.moe_fused_kernels
            ? static_cast<Node*>(&tape.add<FusedRouterNode>(p, layer, x, own_weights))
            : &tape.add<RouterNode>(p.router, p.router_bias, layer, x, own_weights);
    all.push_back(router);
    tape.enter(std::nullopt);
    if (plan.moe_pipeline_degree > 1) {
        branch.nodes.reader = router;
        branch.routed = &add_in_parts(tape, plan, model, p, layer, x, own_weights, branch.nodes);
        return branch;
    }
    const ExpertPath path = add_dispatch(tape, plan, model, layer, x, own_weights, all);
    branch.nodes.reader = router;
    if (plan.moe_shared_expert_overlap) {
        const std::vector<Node*> shared = add_shared();
        branch.nodes.reader = shared.empty() ? router : shared.front();
        all.insert(all.end(), shared.begin(), shared.end());
    }
    Edge* inputs = &path.inputs;
    if (fills_up_rows(plan)) {
        inputs = &tape.edge();
        all.push_back(&tape.add<SortNode>(
            "rows filled up", RowOrder::by_expert, layer, path.inputs, *inputs, true));
    }
    Edge& fc1 = tape.edge();
    Edge& activated = tape.edge();
    Edge& fc2 = tape.edge();
    all.push_back(&tape.add<ExpertProductNode>(
        "expert fc1", p.expert_fc1, p.expert_fc1_bias, *inputs, fc1));
    branch.nodes.activation = &tape.add<ActivationNode>(fc1, activated, &path.weights);
    all.push_back(branch.nodes.activation);
    const bool weighed_bias =
        !plan.moe_fused_kernels && !plan.moe_fused_bias && p.expert_fc2_bias.elements > 0;
    auto& product = tape.add<ExpertProductNode>(
        "expert fc2", p.expert_fc2, weighed_bias ? none : p.expert_fc2_bias, activated, fc2);
    product.discard_output();
    branch.nodes.fc2 = &product;
    all.push_back(&product);
    Edge* made = &fc2;
    if (fills_up_rows(plan)) {
        made = &tape.edge();
        all.push_back(&tape.add<SortNode>(
            "rows taken out", RowOrder::by_expert, layer, fc2, *made, false));
    }
    if (weighed_bias) {
        Edge& sum = tape.edge();
        all.push_back(
            &tape.add<ExpertBiasNode>(p.expert_fc2_bias, *made, path.weights, sum));
        made = &sum;
    }
    branch.routed = &add_combine(tape, plan, model, layer, *made, all);
    return branch;
}

}  // namespace orrery
