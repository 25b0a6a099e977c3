// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/prediction_module.h"

#include "kernels/elementwise/elementwise.h"
#include "models/blocks/embedding_rows.h"
#include "models/blocks/head_lowering.h"
#include "models/blocks/layer_nodes.h"

namespace orrery {
namespace {

constexpr auto kOfPrediction = Cause::memory_bound_kernels;

}  // namespace

std::vector<Parameter*> PredictionParameters::present() {
    std::vector<Parameter*> found;
    for (Parameter* p : {&embedding, &embedding_norm, &stream_norm, &projection}) {
        if (p->elements > 0) {
            found.push_back(p);
        }
    }
    const std::vector<Parameter*> of_layer = layer.present();
    found.insert(found.end(), of_layer.begin(), of_layer.end());
    found.push_back(&final_norm);
    return found;
}

void PredictionInputNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const std::int64_t hidden = b.model.hidden_size;
    add_pending(b, pass.stream, Lifetime::micro_batch);
    tokens_ = token_ids(b, "next tokens");
    ResidualStream next{
        .residual = embedding_rows(b, "next embedding", embedding_, tokens_, saved()),
        .pending = {},
        .mask = {},
        .biases = {}};
    if (saved() == Lifetime::micro_batch) {
        b.outlive_slot(next.residual);
    }
    const NormLifetimes kept{saved(), Lifetime::slot};
    const Value embedding =
        norm_forward(b, "next embedding norm", next, p_.embedding_norm, kept, before_embedding_);
    ResidualStream stream = pass.stream;
    const Value normed =
        norm_forward(b, "prediction norm", stream, p_.stream_norm, kept, before_stream_);
    joined_ = b.value("prediction input", 2 * hidden, normed.layout, saved());
    b.kernel("prediction input",
             transpose(b.local_tokens(joined_), b.local_width(joined_), joined_.dtype),
             kOfPrediction,
             {&embedding, &normed},
             {&joined_});
    pass.stream = {.residual = b.product("prediction projection", joined_, p_.projection, saved()),
                   .pending = {},
                   .mask = {},
                   .biases = {}};
}

void PredictionInputNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    const std::int64_t hidden = b.model.hidden_size;
    const Value dy = pass.stream_gradient;
    const Value djoined = b.gradient_product("prediction projection dgrad", dy, p_.projection);
    weight_gradient_op(b, "prediction projection wgrad", joined_, dy, p_.projection, pass.deferred);
    const Value dembedding =
        b.value("next embedding gradient", hidden, djoined.layout, Lifetime::slot);
    const Value dstream = b.value("prediction gradient", hidden, djoined.layout, Lifetime::slot);
    b.kernel("prediction input backward",
             transpose(b.local_tokens(djoined), b.local_width(djoined), djoined.dtype),
             kOfPrediction,
             {&djoined},
             {&dembedding, &dstream});
    const Value drows = norm_backward(
        b, "next embedding norm backward", dembedding, before_embedding_, {}, p_.embedding_norm);
    embedding_row_gradients(b, "next embedding", embedding_, tokens_, drows);
    pass.stream_gradient =
        norm_backward(b, "prediction norm backward", dstream, before_stream_, {}, p_.stream_norm);
}

}  // namespace orrery
