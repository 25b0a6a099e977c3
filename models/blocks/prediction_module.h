// SPDX-License-Identifier: Apache-2.0
// A module of multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2; Megatron-Core,
// multi_token_prediction.py). The stream after the last layer and the embedding of the next token
// are each normed and concatenated. A product reduces them to the hidden size, and a layer like the
// last one follows. Its output passes the model's output layer and has a loss of its own.
#pragma once

#include <cstdint>

#include "models/blocks/layer_lowering.h"

namespace orrery {

struct PredictionParameters {
    Parameter embedding;  // a copy of the model's embedding, which is on the first stage
    Parameter embedding_norm;
    Parameter stream_norm;
    Parameter projection;  // (2 hidden, hidden)
    LayerParameters layer;
    Parameter final_norm;

    // In forward order.
    std::vector<Parameter*> present();
};

// The node before the module's layer. It reads the stream and the ids of the next tokens, and
// leaves the layer's input in the stream.
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
