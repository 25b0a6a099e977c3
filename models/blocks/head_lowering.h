// SPDX-License-Identifier: Apache-2.0
// What stands behind the layers: the final norm, the output layer and the loss, forward and
// backward.
#pragma once

#include <string_view>

#include "models/blocks/tape.h"

namespace orrery {

// Ids of a micro-batch that the data loader writes.
Value token_ids(BlockBuilder& b, std::string_view name);

class Head {
public:
    void forward(BlockBuilder& b,
                 ResidualStream& stream,
                 const Parameter& norm,
                 const Parameter& output);
    // Where the final norm is made elsewhere: logits and the exchange of their statistics, the loss
    // that follows from these, and the gradient of the norm's output.
    void forward_part(BlockBuilder& b, const Value& norm, const Parameter& output);
    void finish_loss(BlockBuilder& b);
    Value backward_of(BlockBuilder& b, Parameter& output, Deferred* deferred);
    // The gradient of the stream behind the layers.
    Value backward(BlockBuilder& b, Parameter& norm, Parameter& output, Deferred* deferred);

private:
    void logits(BlockBuilder& b, const Value& norm, const Parameter& output);
    void local_loss(BlockBuilder& b);
    void exchange_statistics(BlockBuilder& b, bool at_once);
    // One value of each token that the loss keeps, as long as ranks have parts of the vocabulary.
    void keep_statistics(BlockBuilder& b, const Layout& parts);
    void mean_of_loss(BlockBuilder& b) const;
    void rescale(BlockBuilder& b);
    void measure_again(BlockBuilder& b);  // plan.loss_metrics
    // Tile by tile (plan.loss_tile_tokens), of which nothing but the statistics is kept.
    void tiled_forward(BlockBuilder& b, const Parameter& output);
    Value tiled_backward(BlockBuilder& b, Parameter& output);

    NormActivations before_norm_;
    Value norm_;
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
