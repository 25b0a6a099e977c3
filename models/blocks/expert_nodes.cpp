// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/expert_nodes.h"

#include "models/blocks/expert_moves.h"
#include "models/blocks/expert_products.h"
#include "models/blocks/fused_experts.h"
#include "models/blocks/layer_nodes.h"
#include "models/blocks/mask_moves.h"
#include "models/blocks/router_node.h"
#include "models/blocks/row_permutation.h"
#include "models/experts/router_load.h"

namespace orrery {
namespace {

// The edges from a layer's tokens to what its experts read.
struct ExpertPath {
    Edge& inputs;                // of the first product
    Edge* weights = nullptr;     // of its rows; null: of the masks
    Edge* masks = nullptr;       // or null
    const Edge* sent = nullptr;  // before the exchange
    MoveNode* dispatch = nullptr;
};

// NCCL's exchange brings rows by rank, unless a kernel of experts writes them to their places.
bool sorts_rows(const ParallelPlan& plan, const Transformer& model) {
    return model.num_experts > plan.expert_model_parallel_size &&
           plan.expert_model_parallel_size > 1 && !plan.moe_tile_overlap;
}

// FP8 products want a multiple of rows for each expert: unless the library that brings rows fills
// them up, a kernel does, and another takes out what its product made (Transformer Engine's
// Fp8Padding and Fp8Unpadding). Equal loads need none.
bool fills_up_rows(const ParallelPlan& plan) {
    return plan.precision == Dtype::fp8 && !plan.moe_fused_kernels &&
           !is_even(plan.moe_router_load) && !dispatcher_of(plan).copies_out;
}

// DeepEP and HybridEP send a token's row once to each rank and copy it for its experts there.
ExpertPath add_dispatch_once(Tape& tape,
                             std::int64_t layer,
                             Edge& x,
                             Edge& own_weights,
                             RouterNode& router,
                             bool kept,
                             std::vector<Node*>& all) {
    Edge& weights = tape.edge();
    Edge& dispatched = tape.edge();
    Edge& rows = tape.edge();
    all.push_back(&tape.add<RoutingMapNode>(router));
    all.push_back(&tape.add<HostReadNode>(router));
    all.push_back(
        &tape.add<MoveNode>("dispatch", Destination::experts, layer, x, dispatched, false));
    all.push_back(
        &tape.add<SortNode>("copies of rows", RowOrder::by_expert, layer, dispatched, rows, kept));
    all.push_back(&tape.add<CarryNode>(layer, own_weights, weights));
    return {rows, &weights};
}

// Tokens come to their experts. The backward pass reads rows as they come unless they are filled
// up.
ExpertPath add_dispatch(Tape& tape,
                        const ParallelPlan& plan,
                        const Transformer& model,
                        std::int64_t layer,
                        Edge& x,
                        Edge& own_weights,
                        RouterNode* router,
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
        return {dispatched, &weights};
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
        return {rows, &weights};
    }
    if (sends_rows_once(plan)) {
        return add_dispatch_once(tape, layer, x, own_weights, *router, kept, all);
    }
    Edge& dispatched = tape.edge();
    Edge& rows = tape.edge();
    const bool sorts = sorts_rows(plan, model);
    ExpertPath path{.inputs = sorts ? tape.edge() : dispatched, .weights = &weights, .sent = &rows};
    tape.enter(CudaGraphPart::moe_preprocess);
    if (plan.moe_mask_products) {
        path.weights = nullptr;
        path.masks = &tape.edge();
        all.push_back(&tape.add<MaskGatherNode>(layer, x, own_weights, *path.masks, rows));
    } else {
        all.push_back(&tape.add<PermuteNode>(layer, x, rows));
    }
    tape.enter(std::nullopt);
    all.push_back(&tape.add<HostReadNode>(*router));
    path.dispatch = &tape.add<MoveNode>(
        "dispatch", Destination::experts, layer, rows, dispatched, !sorts && kept);
    all.push_back(path.dispatch);
    if (path.weights != nullptr) {
        add_weights(Destination::experts);
    }
    if (sorts) {
        all.push_back(&tape.add<SortNode>(
            "rows by expert", RowOrder::by_expert, layer, dispatched, path.inputs, kept));
    }
    return path;
}

// What a layer's rows come back by.
struct CombinedBy {
    const ExpertPath& path;
    ExpertProductNode& fc1;
    ExpertProductNode& fc2;
    Edge& own_weights;
};

// The exchanges and the products beside them share their tiles, in both passes.
void share_tiles(const ExpertPath& path,
                 ExpertProductNode& fc1,
                 ExpertProductNode& fc2,
                 MoveNode& combine,
                 const Edge& combined) {
    fc1.takes_tiles_forward(*path.sent, *path.dispatch);
    combine.sends_tiles_forward(fc2);
    fc2.takes_tiles_backward(combined, combine);
    path.dispatch->sends_tiles_backward(fc1);
}

// What the experts made comes back as sums of each token.
Edge& add_combine(Tape& tape,
                  const ParallelPlan& plan,
                  const Transformer& model,
                  std::int64_t layer,
                  Edge& made,
                  const CombinedBy& by,
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
    const bool sorts = sorts_rows(plan, model);
    Edge& rows = sorts ? tape.edge() : made;
    if (sorts) {
        all.push_back(
            &tape.add<SortNode>("rows by rank", RowOrder::by_rank, layer, made, rows, false));
    }
    Edge& combined = tape.edge();
    auto& combine = tape.add<MoveNode>(
        "combine", Destination::residual, layer, rows, combined, by.path.masks != nullptr);
    all.push_back(&combine);
    if (plan.moe_tile_overlap) {
        share_tiles(by.path, by.fc1, by.fc2, combine, combined);
    }
    if (by.path.masks != nullptr) {
        all.push_back(&tape.add<MaskScatterNode>(by.own_weights, *by.path.masks, combined, sums));
    } else {
        all.push_back(&tape.add<UnpermuteNode>(combined, sums));
    }
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
        nodes.all.push_back(
            &tape.add<UnpermuteNode>(*combined[static_cast<std::size_t>(part.number)], sums, part));
    }
    return sums;
}

ActivationNode& add_activation(Tape& tape,
                               const ParallelPlan& plan,
                               ExpertProductNode& product,
                               Edge& x,
                               Edge& y,
                               Edge* weights) {
    auto& node = tape.add<ActivationNode>(x, y, weights, plan.moe_fused_activation);
    if (plan.activation_func_fp8_input_store) {
        node.keep_input_in_fp8(product);
    }
    return node;
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
                   const RouterNode& router,
                   ExpertNodes& nodes) {
    static Parameter none;
    const std::int64_t parts = plan.moe_pipeline_degree;
    const bool sorts = sorts_rows(plan, model);
    std::vector<Edge*> inputs;
    std::vector<Edge*> weights;
    for (RowPart part{.of = parts}; part.number < parts; ++part.number) {
        Edge& rows = tape.edge();
        Edge& own = tape.edge();
        inputs.push_back(&tape.edge());
        weights.push_back(&tape.edge());
        nodes.all.push_back(&tape.add<PermuteNode>(layer, x, rows, part));
        if (part.number == 0) {
            nodes.all.push_back(&tape.add<HostReadNode>(router));
        }
        nodes.all.push_back(&tape.add<MoveNode>(
            "dispatch", Destination::experts, layer, rows, *inputs.back(), !sorts, parts));
        nodes.all.push_back(&tape.add<PermuteNode>(layer, own_weights, own, part));
        nodes.all.push_back(&tape.add<MoveNode>(
            "dispatch of weights", Destination::experts, layer, own, *weights.back(), true, parts));
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
        auto& first = tape.add<ExpertProductNode>("expert fc1", p.expert_fc1, none, *rows, fc1);
        nodes.all.push_back(&first);
        nodes.activation = &add_activation(tape, plan, first, fc1, activated, weights[i]);
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

// Rows of each expert, filled up to a multiple or taken out of it again.
Edge& add_sort(Tape& tape,
               const char* name,
               std::int64_t layer,
               Edge& x,
               bool fills_up,
               std::vector<Node*>& nodes) {
    Edge& y = tape.edge();
    nodes.push_back(&tape.add<SortNode>(name, RowOrder::by_expert, layer, x, y, fills_up));
    return y;
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
    RouterNode* const chain =
        plan.moe_fused_kernels
            ? nullptr
            : &tape.add<RouterNode>(p.router, p.router_bias, layer, x, own_weights);
    Node* const router = chain != nullptr ? static_cast<Node*>(chain)
                                          : &tape.add<FusedRouterNode>(p, layer, x, own_weights);
    all.push_back(router);
    tape.enter(std::nullopt);
    if (plan.moe_pipeline_degree > 1) {
        branch.nodes.reader = router;
        branch.routed =
            &add_in_parts(tape, plan, model, p, layer, x, own_weights, *chain, branch.nodes);
        return branch;
    }
    const ExpertPath path = add_dispatch(tape, plan, model, layer, x, own_weights, chain, all);
    branch.nodes.reader = router;
    if (plan.moe_shared_expert_overlap) {
        const std::vector<Node*> shared = add_shared();
        branch.nodes.reader = shared.empty() ? router : shared.front();
        all.insert(all.end(), shared.begin(), shared.end());
    }
    Edge& inputs = fills_up_rows(plan)
                       ? add_sort(tape, "rows filled up", layer, path.inputs, true, all)
                       : path.inputs;
    Edge& fc1 = tape.edge();
    Edge& activated = tape.edge();
    Edge& fc2 = tape.edge();
    auto& first =
        tape.add<ExpertProductNode>("expert fc1", p.expert_fc1, p.expert_fc1_bias, inputs, fc1);
    all.push_back(&first);
    branch.nodes.activation = &add_activation(tape, plan, first, fc1, activated, path.weights);
    all.push_back(branch.nodes.activation);
    const bool weighed_bias = !plan.moe_fused_kernels && !plan.moe_fused_bias &&
                              path.weights != nullptr && p.expert_fc2_bias.elements > 0;
    auto& product = tape.add<ExpertProductNode>(
        "expert fc2", p.expert_fc2, weighed_bias ? none : p.expert_fc2_bias, activated, fc2);
    product.discard_output();
    branch.nodes.fc2 = &product;
    all.push_back(&product);
    Edge* made = &fc2;
    if (fills_up_rows(plan)) {
        made = &add_sort(tape, "rows taken out", layer, fc2, false, all);
    }
    if (weighed_bias) {
        Edge& sum = tape.edge();
        all.push_back(&tape.add<ExpertBiasNode>(p.expert_fc2_bias, *made, *path.weights, sum));
        made = &sum;
    }
    const CombinedBy by{path, first, product, own_weights};
    branch.routed = &add_combine(tape, plan, model, layer, *made, by, all);
    return branch;
}

}  // namespace orrery
