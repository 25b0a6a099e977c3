// SPDX-License-Identifier: Apache-2.0
// The head of the model, forward and backward: the final norm, the output layer and the loss.
#pragma once

#include <string_view>

#include "models/blocks/tape.h"

namespace orrery {

// The token ids of a micro-batch, which the data loader writes.
Value token_ids(BlockBuilder& b, std::string_view name);

class Head {
public:
    void forward(BlockBuilder& b,
                 ResidualStream& stream,
                 const Parameter& norm,
                 const Parameter& output);
    // The steps of a head whose final norm is on another stage: logits with the exchange of their
    // statistics, the loss from these statistics, and the gradient of the norm's output.
    void forward_part(BlockBuilder& b, const Value& norm, const Parameter& output);
    void finish_loss(BlockBuilder& b);
    Value backward_of(BlockBuilder& b, Parameter& output, Deferred* deferred);
    // The gradient of the residual stream after the last layer.
    Value backward(BlockBuilder& b, Parameter& norm, Parameter& output, Deferred* deferred);

private:
    void logits(BlockBuilder& b, const Value& norm, const Parameter& output);
    void local_loss(BlockBuilder& b);
    std::vector<Value> kept_logits(BlockBuilder& b) const;  // plan.kept_logits
    // plan.loss_copies
    std::vector<Value> copied_logits(BlockBuilder& b, const std::vector<Value>& kept) const;
    void exchange_statistics(BlockBuilder& b, bool at_once);
    // Keeps one value for each token, in a layout without the vocabulary's parts.
    void keep_statistics(BlockBuilder& b, const Layout& parts);
    void mean_of_loss(BlockBuilder& b) const;
    void rescale(BlockBuilder& b);
    void measure_again(BlockBuilder& b);  // plan.loss_metrics
    // Forward and backward pass tile by tile (plan.loss_tile_tokens). Only the statistics of a tile
    // are kept.
    void tiled_forward(BlockBuilder& b, const Parameter& output);
    Value tiled_backward(BlockBuilder& b, Parameter& output);

    NormActivations before_norm_;
    Value norm_;
    Value gathered_;  // the norm's output as the product reads it
    Value logits_;
    Value probabilities_;  // fp32, kept by the unfused loss
    Value labels_;
    // Per token: the largest logit, the sum of exponentials, the target's logit.
    Value local_maximum_;
    Value maximum_;
    Value sum_;
    Value target_;
};

}  // namespace orrery
