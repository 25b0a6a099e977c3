// SPDX-License-Identifier: Apache-2.0
// The nodes of a layer with experts (models/blocks/tape.h): the router, the moves of rows to the
// ranks of their experts and back, and the experts' products. The order is Megatron-Core's
// (moe_layer.py, token_dispatcher.py):
//
//   alltoall   router, permute, all-to-all over "ep" and all-gather over "etp", products,
//              reduce-scatter over "etp" and all-to-all over "ep", unpermute
//   allgather  router, all-gather of the tokens over both, permute, products, unpermute,
//              reduce-scatter
//
// The transfers follow from the layouts of the edges (models/plan/layout_assignment.h).
#pragma once

#include <functional>
#include <vector>

#include "models/blocks/layer_lowering.h"
#include "models/blocks/tape.h"

namespace orrery {

// The nodes of a layer's experts among which recomputation chooses.
struct ExpertNodes {
    std::vector<Node*> all;  // in forward order
    Node* reader = nullptr;  // its backward pass is the first to read the layer's input
    Node* fc2 = nullptr;
    Node* activation = nullptr;
};

// The output of a layer's experts.
struct ExpertBranch {
    ExpertNodes nodes;
    // Each token's sum over its experts, in the layout of the residual stream
    Edge* routed = nullptr;
};

// Adds the layer's experts, which read `x`. `add_shared` adds the shared expert's nodes and returns
// them; the first one reads x. It returns an empty list if the model has no shared expert.
ExpertBranch add_experts(Tape& tape,
                         const ParallelPlan& plan,
                         const Transformer& model,
                         LayerParameters& parameters,
                         std::int64_t layer,
                         Edge& x,
                         const std::function<std::vector<Node*>()>& add_shared);

}  // namespace orrery
