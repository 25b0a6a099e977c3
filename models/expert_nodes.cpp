// SPDX-License-Identifier: Apache-2.0
#include "models/expert_nodes.h"

#include <cmath>

#include "kernels/elementwise/elementwise.h"
#include "kernels/softmax/softmax.h"
#include "models/layer_nodes.h"
#include "models/relayout.h"
#include "models/router_load.h"

namespace orrery {
namespace {

constexpr auto kMovesMemory = Cause::memory_bound_kernels;

// Kernels of Megatron-Core's topk_routing_with_score_function beside the scores: the choice, two
// of the weights' normalisation, zeros and scatter of weights and of choices, and their sums.
constexpr std::uint8_t kChoiceKernels = 8;

// Ranks that exchange tokens because of a layer's experts.
std::uint32_t sharing_digits(const LayoutAssignment& layouts) {
    return layouts.expert_digits | layouts.expert_tensor_digits;
}

TokenRows rows_of_layer(const BlockBuilder& b, std::int64_t layer) {
    const std::int64_t rows = b.model.seq_length * b.model.moe_router_topk;
    if (b.plan.moe_router_load == RouterLoad::balanced) {
        return {rows, rows};
    }
    const std::int64_t shared = b.layouts.mesh.combined_size(sharing_digits(b.layouts));
    std::int64_t tokens = b.local_extent(b.model.seq_length, kSequence, b.layouts.residual);
    tokens *= b.plan.micro_batch_size * shared;
    const double busiest = busiest_rank(b.model, b.plan, layer, tokens);
    return {rows, static_cast<std::int64_t>(std::ceil(static_cast<double>(rows) * busiest))};
}

Layout with(Layout layout, Placement from, DigitPlacement to) {
    for (DigitPlacement& p : layout) {
        p = p.placement == from ? to : p;
    }
    return layout;
}

// Reads `read` elements a row and writes `written` ones, of as many rows as `rows` has.
KernelCall moving_call(const BlockBuilder& b, const Value& rows, std::int64_t bytes) {
    KernelCall call = transpose(b.local_tokens(rows), b.local_width(rows), rows.dtype);
    call.bytes = bytes;
    return call;
}

Bytes bytes_of(const BlockBuilder& b, const Value& v) {
    return Bytes{local_elements(v.shape, v.layout, b.layouts.mesh) * size_bytes(v.dtype)};
}

void move_rows(BlockBuilder& b,
               std::string_view name,
               const std::vector<const Value*>& reads,
               const std::vector<const Value*>& writes) {
    std::int64_t bytes = 0;
    for (const Value* v : reads) {
        bytes += bytes_of(b, *v).count();
    }
    for (const Value* v : writes) {
        bytes += bytes_of(b, *v).count();
    }
    b.kernel(name, moving_call(b, *writes.front(), bytes), kMovesMemory, reads, writes);
}

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
        OpSpec spec{.name = "router choice",
                    .stream = kComputeStream,
                    .cause = b.recomputing ? Cause::recomputation : kMovesMemory,
                    .reads = {logits_.tensor},
                    .writes = {weights_.value.tensor},
                    .accumulates = {},
                    .launches = kChoiceKernels};
        b.ops.kernel(transpose(tokens, b.model.num_experts, Dtype::fp32), spec);
        if (b.plan.moe_token_dispatcher_type == TokenDispatcher::alltoall) {
            exchange_counts(b);
        }
    }

    void backward(BackwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value dlogits = b.value(
            "router scores backward", logits_.shape[kWidth], logits_.layout, pass.read_later());
        b.kernel("router scores backward",
                 scores(b, false),
                 kMovesMemory,
                 {&logits_, &weights_.gradient},
                 {&dlogits});
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
                    .launches = 1};
        b.ops.kernel(transpose(1, b.model.num_experts, Dtype::int32), spec);
        TensorId read = own;
        if (ranks > 1) {
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

enum class Destination : std::uint8_t { experts, all_ranks, residual };

// A value brought to another layout; its gradient goes the other way.
class MoveNode : public Node {
public:
    MoveNode(std::string_view name, Destination to, Edge& x, Edge& y, bool keeps)
        : name_(name), to_(to), x_(x), y_(y), keeps_(keeps) {}

    void forward(ForwardPass& pass) override {
        y_.value = moved(pass.b, name_, x_.value, target(pass.b), kept());
    }
    void backward(BackwardPass& pass) override {
        const Layout back = with(x_.value.layout, Placement::partial, replicated());
        const Value dx = moved(pass.b,
                               name_ + " backward",
                               y_.gradient,
                               back,
                               keeps_ ? Lifetime::slot : pass.read_later());
        if (x_.gradient.empty()) {
            x_.gradient = dx;
        } else {
            add_gradient(pass.b, x_, dx);
        }
    }

private:
    Lifetime kept() const { return keeps_ ? saved() : Lifetime::slot; }
    Layout target(const BlockBuilder& b) const {
        return to_ == Destination::experts     ? b.layouts.expert_rows
               : to_ == Destination::all_ranks ? b.layouts.expert_tokens
                                               : b.layouts.residual;
    }
    // torch.distributed's exchange waits for what the compute stream has been given before it.
    Value moved(BlockBuilder& b,
                std::string_view name,
                const Value& v,
                const Layout& to,
                Lifetime lifetime) const {
        Value rows = v;
        if (!rows.of_experts()) {
            rows.rows = {v.shape[kSequence], v.shape[kSequence]};
        }
        if (!transition(rows.layout, to).empty() && !b.plan.moe_shared_expert_overlap &&
            b.ops.size() > 0) {
            b.ops.next_waits_for(b.ops.size() - 1);
        }
        Value result = b.relayout(name, rows, to, lifetime);
        if (result.tensor == v.tensor && lifetime != Lifetime::slot) {
            b.outlive_slot(result);  // nothing moved: what is kept is the value itself
        }
        result.rows = v.rows;
        return result;
    }

    std::string name_;
    Destination to_;
    Edge& x_;
    Edge& y_;
    bool keeps_;
};

// Tokens as rows, each as often as it has experts, ordered by expert; and the weights beside them.
class PermuteNode : public Node {
public:
    PermuteNode(std::int64_t layer, Edge& x, Edge& rows) : layer_(layer), x_(x), rows_(rows) {}

    void forward(ForwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const bool gathered = b.plan.moe_token_dispatcher_type == TokenDispatcher::allgather;
        rows_.value = b.rows_value("expert rows",
                                   rows_of_layer(b, layer_),
                                   x_.value.shape[kWidth],
                                   gathered ? b.layouts.expert_rows : x_.value.layout,
                                   gathered ? saved() : Lifetime::slot,
                                   x_.value.dtype);
        move_rows(b, "permute", {&x_.value}, {&rows_.value});
    }
    void backward(BackwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value& drows = rows_.gradient;
        const Value dx = b.value("permute backward",
                                 x_.value.shape[kWidth],
                                 with(drows.layout, Placement::routed, partial()),
                                 Lifetime::slot);
        move_rows(b, "permute backward", {&drows}, {&dx});
        if (x_.gradient.empty()) {
            x_.gradient = dx;
        } else {
            add_gradient(b, x_, dx);
        }
    }

private:
    std::int64_t layer_;
    Edge& x_;
    Edge& rows_;
};

// The sum of each token's rows.
class UnpermuteNode : public Node {
public:
    UnpermuteNode(Edge& rows, Edge& y) : rows_(rows), y_(y) {}

    void forward(ForwardPass& pass) override {
        BlockBuilder& b = pass.b;
        y_.value = b.value("unpermute",
                           rows_.value.shape[kWidth],
                           with(rows_.value.layout, Placement::routed, partial()),
                           Lifetime::slot);
        move_rows(b, "unpermute", {&rows_.value}, {&y_.value});
    }
    void backward(BackwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value& rows = rows_.value;
        rows_.gradient = b.rows_value("unpermute backward",
                                      rows.rows,
                                      rows.shape[kWidth],
                                      with(rows.layout, Placement::partial, replicated()),
                                      pass.read_later(),
                                      rows.dtype);
        move_rows(b, "unpermute backward", {&y_.gradient}, {&rows_.gradient});
    }

private:
    Edge& rows_;
    Edge& y_;
};

// One grouped product: every expert of the rank with its rows.
class ExpertProductNode : public Node {
public:
    ExpertProductNode(std::string_view name, Parameter& weight, Parameter& bias, Edge& x, Edge& y)
        : name_(name), weight_(weight), bias_(bias), x_(x), y_(y) {}

    void forward(ForwardPass& pass) override {
        y_.value = pass.b.product(name_, x_.value, weight_, kept(), 1, nullptr, &bias_);
    }
    void backward(BackwardPass& pass) override {
        x_.gradient = pass.b.gradient_product(name_ + " dgrad", y_.gradient, weight_);
        weight_gradient_op(pass.b, name_ + " wgrad", x_.value, y_.gradient, weight_, pass.deferred);
        if (bias_.elements > 0) {
            pass.b.bias_gradient(name_ + " bias gradient", y_.gradient, bias_);
        }
    }
    // No backward pass reads its output.
    void discard_output() { keeps_output_ = false; }

private:
    Lifetime kept() const { return keeps_output_ ? saved() : Lifetime::slot; }

    std::string name_;
    Parameter& weight_;
    Parameter& bias_;
    Edge& x_;
    Edge& y_;
    bool keeps_output_ = true;
};

}  // namespace

ExpertBranch add_experts(Tape& tape,
                         const ParallelPlan& plan,
                         LayerParameters& p,
                         std::int64_t layer,
                         Edge& x,
                         const std::function<std::vector<Node*>()>& add_shared) {
    const bool gathers = plan.moe_token_dispatcher_type == TokenDispatcher::allgather;
    ExpertBranch branch;
    std::vector<Node*>& all = branch.nodes.all;
    if (!plan.moe_shared_expert_overlap) {
        all = add_shared();
    }
    Edge& own_weights = tape.edge();
    Edge& weights = tape.edge();
    Edge& rows = tape.edge();
    Edge& dispatched = gathers ? rows : tape.edge();
    Edge& tokens = gathers ? tape.edge() : x;
    auto& router = tape.add<RouterNode>(p.router, p.router_bias, layer, x, own_weights);
    all.push_back(&router);
    if (gathers) {
        all.push_back(
            &tape.add<MoveNode>("expert tokens gather", Destination::all_ranks, x, tokens, false));
    }
    all.push_back(&tape.add<PermuteNode>(layer, tokens, rows));
    if (!gathers) {
        all.push_back(
            &tape.add<MoveNode>("dispatch", Destination::experts, rows, dispatched, true));
    }
    all.push_back(&tape.add<MoveNode>("dispatch of weights",
                                      gathers ? Destination::all_ranks : Destination::experts,
                                      own_weights,
                                      weights,
                                      true));
    branch.nodes.reader = &router;
    if (plan.moe_shared_expert_overlap) {
        const std::vector<Node*> shared = add_shared();
        branch.nodes.reader = shared.empty() ? &router : shared.front();
        all.insert(all.end(), shared.begin(), shared.end());
    }
    Edge& fc1 = tape.edge();
    Edge& activated = tape.edge();
    Edge& fc2 = tape.edge();
    Edge& combined = gathers ? fc2 : tape.edge();
    Edge& sums = tape.edge();
    all.push_back(&tape.add<ExpertProductNode>(
        "expert fc1", p.expert_fc1, p.expert_fc1_bias, dispatched, fc1));
    branch.nodes.activation = &tape.add<ActivationNode>(fc1, activated, &weights);
    all.push_back(branch.nodes.activation);
    auto& product =
        tape.add<ExpertProductNode>("expert fc2", p.expert_fc2, p.expert_fc2_bias, activated, fc2);
    product.discard_output();
    branch.nodes.fc2 = &product;
    all.push_back(&product);
    if (!gathers) {
        all.push_back(&tape.add<MoveNode>("combine", Destination::residual, fc2, combined, false));
    }
    all.push_back(&tape.add<UnpermuteNode>(combined, sums));
    branch.routed = &sums;
    if (gathers) {
        branch.routed = &tape.edge();
        all.push_back(&tape.add<MoveNode>(
            "expert sums scatter", Destination::residual, sums, *branch.routed, false));
    }
    return branch;
}

}  // namespace orrery
