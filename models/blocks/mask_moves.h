// SPDX-License-Identifier: Apache-2.0
// Rows of experts by products with masks (plan.moe_mask_products), as in GShard (Lepikhin et al.,
// arXiv 2006.16668, algorithm 2) and DeepSpeed-MoE (deepspeed/moe/sharded_moe.py): a mask has an
// element for each token and each place of an expert.
#pragma once

#include <cstdint>

#include "models/blocks/layer_nodes.h"

namespace orrery {

// Makes the masks of the chosen experts, and rows of experts as product of a mask and the tokens.
class MaskGatherNode : public Node {
public:
    MaskGatherNode(std::int64_t layer, Edge& x, Edge& weights, Edge& masks, Edge& rows)
        : layer_(layer), x_(x), weights_(weights), masks_(masks), rows_(rows) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    std::int64_t layer_;
    Edge& x_;
    Edge& weights_;  // of the chosen experts
    Edge& masks_;
    Edge& rows_;
};

// Each token's weighted sum, as product of the mask of weights and the rows that came back.
class MaskScatterNode : public Node {
public:
    MaskScatterNode(Edge& weights, const Edge& masks, Edge& rows, Edge& y)
        : weights_(weights), masks_(masks), rows_(rows), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    Edge& weights_;
    const Edge& masks_;
    Edge& rows_;
    Edge& y_;
};

}  // namespace orrery
