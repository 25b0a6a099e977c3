// SPDX-License-Identifier: Apache-2.0
// A module that predicts one token further (DeepSeek-V3, arXiv 2412.19437, section 2.2;
// Megatron-Core, multi_token_prediction.py): the stream behind the last layer and the embedding of
// the next token, each normed, side by side; a product back to the hidden size; a layer like the
// last one. Its output passes the model's output layer again, for a loss of its own.
#pragma once

#include <cstdint>

#include "models/blocks/layer_lowering.h"

namespace orrery {

struct PredictionParameters {
    Parameter embedding;  // a copy of the model's, which lies on the first stage
    Parameter embedding_norm;
    Parameter stream_norm;
    Parameter projection;  // (2 hidden, hidden)
    LayerParameters layer;
    Parameter final_norm;

    // In forward order.
    std::vector<Parameter*> present();
};

// What stands before the module's layer: reads the stream and the ids of the next tokens, leaves
// the layer's input in the stream.
class PredictionInputNode : public Node {
public:
    PredictionInputNode(PredictionParameters& parameters, Parameter& embedding, std::int64_t module)
        : p_(parameters), embedding_(embedding), module_(module) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

private:
    PredictionParameters& p_;
    Parameter& embedding_;
    std::int64_t module_;
    Value tokens_;
    Value joined_;
    NormActivations before_stream_;
    NormActivations before_embedding_;
};

}  // namespace orrery
