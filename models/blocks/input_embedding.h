// SPDX-License-Identifier: Apache-2.0
// What a model's first chunk does before its layers: rows of the embedding, their norm, positions
// and dropout.
#pragma once

#include "models/blocks/chunk_lowering.h"
#include "models/blocks/norm_lowering.h"

namespace orrery {

class InputEmbedding {
public:
    // The input of the first layer. With a part of the vocabulary on each stage, `chunk.embedded`
    // is what other segments make of the tokens (models/blocks/shared_vocabulary.h).
    Value forward(BlockBuilder& b, Chunk& chunk);
    // `dsum`: the gradient of forward()'s value.
    void backward(BlockBuilder& b, Chunk& chunk, const Value& dsum);

private:
    Value tokens_;
    NormActivations before_norm_;
    Value mask_;  // of the dropout
};

}  // namespace orrery
