// SPDX-License-Identifier: Apache-2.0
// The nodes of a layer with experts with fused kernels, one each for the choice of experts, the
// counts and the moves of rows (plan.moe_fused_kernels). Both executors run this form.
//
//   router product, choice, counts [-> all-to-all of counts over "ep"], permute,
//   all-to-all of rows and of their weights over "ep", products, all-to-all over "ep", unpermute
//
// The number of rows that travel is data: kernels and exchanges read it from the counts
// (TokenRows::Counts). Rows arrive ordered by sender, and for each sender by expert. Products read
// them in this order, so that no kernel sorts them. The gradient of a weight is a sum over ranks in
// a fixed order. A tensor of such rows has space for the most rows that can arrive.
#pragma once

#include <span>

#include "kernels/router/router.h"
#include "models/blocks/chunk_lowering.h"

namespace orrery {

// The shape of the router's choice. `biased`: a bias is added to the scores before the choice.
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

// Makes rows from tokens, and from their weights.
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

// Adds up each token's rows.
class FusedUnpermuteNode : public Node {
public:
    FusedUnpermuteNode(Edge& rows, Edge& y) : rows_(rows), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    Edge& rows_;
    Edge& y_;
};

// Makes the RouterState of every layer with experts.
void create_router_states(ProgramTables& tables,
                          const Transformer& model,
                          const ParallelPlan& plan,
                          const LayoutAssignment& layouts,
                          Chunk& chunk);
// The routers' part of the step's end: the sum of each expert's tokens over all ranks of the layer,
// and the new biases.
void lower_router_states(SegmentBuilder& b,
                         const LayoutAssignment& layouts,
                         std::span<Chunk* const> chunks);

}  // namespace orrery
