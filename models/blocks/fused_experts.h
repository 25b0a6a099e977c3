// SPDX-License-Identifier: Apache-2.0
// The nodes of a layer with experts where one kernel each chooses experts, counts their tokens and
// moves rows (plan.moe_fused_kernels): the form that both executors run.
//
//   router product, choice, counts [-> all-to-all of counts over "ep"], permute,
//   all-to-all of rows and of their weights over "ep", products, all-to-all over "ep", unpermute
//
// How many rows travel is data: kernels and exchanges read the counts (TokenRows::Counts). Rows
// arrive rank by rank, those of a rank expert by expert, and products take them so: no kernel sorts
// them, and the gradient of a weight is a sum over ranks in a fixed order. A tensor of such rows
// has room for the most that can arrive.
#pragma once

#include <span>

#include "kernels/router/router.h"
#include "models/blocks/chunk_lowering.h"

namespace orrery {

// How a model's router chooses. `biased`: a bias is added to the scores that are compared.
RouterShape router_shape(const Transformer& model, std::int64_t tokens, bool biased);

class FusedRouterNode : public Node {
public:
    FusedRouterNode(LayerParameters& parameters, std::int64_t layer, Edge& x, Edge& weights)
        : p_(parameters), layer_(layer), x_(x), weights_(weights) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    void count(BlockBuilder& b, TokenRows::Counts& counts);

    LayerParameters& p_;
    std::int64_t layer_;
    Edge& x_;
    Edge& weights_;
    Value logits_;
    Value chosen_;
};

// Tokens and their weights as rows.
class FusedPermuteNode : public Node {
public:
    FusedPermuteNode(std::int64_t layer, Edge& x, Edge& weights, Edge& rows, Edge& row_weights)
        : layer_(layer), x_(x), weights_(weights), rows_(rows), row_weights_(row_weights) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    TokenRows rows_of(const BlockBuilder& b) const;

    std::int64_t layer_;
    Edge& x_;
    Edge& weights_;
    Edge& rows_;
    Edge& row_weights_;
};

// The sum of each token's rows.
class FusedUnpermuteNode : public Node {
public:
    FusedUnpermuteNode(Edge& rows, Edge& y) : rows_(rows), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    Edge& rows_;
    Edge& y_;
};

// Gives every layer with experts its RouterState.
void create_router_states(ProgramTables& tables,
                          const Transformer& model,
                          const ParallelPlan& plan,
                          const LayoutAssignment& layouts,
                          Chunk& chunk);
// The step's end: tokens of each expert over all ranks that have some, and new biases.
void lower_router_states(SegmentBuilder& b,
                         const LayoutAssignment& layouts,
                         std::span<Chunk* const> chunks);

}  // namespace orrery
