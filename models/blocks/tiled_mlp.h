// SPDX-License-Identifier: Apache-2.0
// The MLP of a layer, tile by tile of a rank's tokens (plan.mlp_tile_tokens). Only its input and
// output have the length of the sequence. The backward pass runs each tile again.
#pragma once

#include "models/blocks/layer_lowering.h"

namespace orrery {

// y = MLP(x), in the layout of x. The MLP must have no biases and must not be split over ranks.
class TiledMlpNode : public Node {
public:
    TiledMlpNode(LayerParameters& parameters, Edge& x, Edge& y)
        : parameters_(parameters), x_(x), y_(y) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    LayerParameters& parameters_;
    Edge& x_;
    Edge& y_;
};

}  // namespace orrery
