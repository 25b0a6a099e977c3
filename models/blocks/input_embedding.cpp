// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/input_embedding.h"

#include "kernels/residual/residual.h"
#include "models/blocks/embedding_rows.h"
#include "models/blocks/head_lowering.h"

namespace orrery {
namespace {

constexpr auto kOfEmbedding = Cause::memory_bound_kernels;

}  // namespace

Value InputEmbedding::forward(BlockBuilder& b, Chunk& chunk) {
    Value x;
    if (chunk.shape.has_vocabulary_part) {
        x = b.value("embedded", b.model.hidden_size, b.layouts.residual, Lifetime::micro_batch);
        chunk.embedded = x;
    } else {
        tokens_ = token_ids(b, "tokens");
        x = embedding_rows(b, "embedding", chunk.embedding, tokens_, Lifetime::micro_batch);
    }
    b.outlive_slot(x);
    if (b.model.embed_layernorm) {
        constexpr Lifetime kKept = Lifetime::micro_batch;
        ResidualStream stream{.residual = x, .pending = {}, .mask = {}, .biases = {}};
        x = norm_forward(
            b, "embedding norm", stream, chunk.embedding_norm, {kKept, kKept}, before_norm_);
    }
    if (chunk.position.elements > 0) {
        b.kernel("position embedding",
                 residual_add(b.local_tokens(x), b.model.hidden_size, x.dtype),
                 kOfEmbedding,
                 {},
                 {},
                 {chunk.position.weight},
                 {x.tensor});
    }
    if (b.model.dropout > 0) {
        mask_ = b.value("embedding dropout mask",
                        b.model.hidden_size,
                        x.layout,
                        Lifetime::micro_batch,
                        Dtype::uint8,
                        TensorKind::activations);
        b.set_random(mask_, RandomPurpose::embedding_dropout, 0);
        b.kernel("embedding dropout",
                 dropout(b.local_tokens(x), b.model.hidden_size, x.dtype),
                 kOfEmbedding,
                 {},
                 {&mask_},
                 b.dropout_scalars(),
                 {x.tensor});
    }
    return x;
}

void InputEmbedding::backward(BlockBuilder& b, Chunk& chunk, const Value& dsum) {
    Value dresidual = dsum;
    if (b.model.dropout > 0) {
        dresidual = b.value("embedding dropout backward",
                            b.model.hidden_size,
                            dsum.layout,
                            Lifetime::slot,
                            dsum.dtype,
                            TensorKind::activations);
        b.kernel("embedding dropout backward",
                 dropout(b.local_tokens(dsum), b.model.hidden_size, dsum.dtype),
                 kOfEmbedding,
                 {&dsum, &mask_},
                 {&dresidual},
                 b.dropout_scalars());
    }
    const Value of_position = dresidual;
    if (b.model.embed_layernorm) {
        dresidual = norm_backward(
            b, "embedding norm backward", dresidual, before_norm_, {}, chunk.embedding_norm);
    }
    if (chunk.shape.has_vocabulary_part) {
        chunk.embedded_gradient = dresidual;
        b.outlive_slot(dresidual);
    } else {
        embedding_row_gradients(b, "embedding", chunk.embedding, tokens_, dresidual);
    }
    if (chunk.position.elements > 0) {
        b.bias_gradient("position embedding gradient", of_position, chunk.position);
    }
}

}  // namespace orrery
