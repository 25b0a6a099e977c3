// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (DeepSeek-AI, DeepSeek-V2, arXiv 2405.04434, section 2.1) up to the
// input of attention: latent vectors on every tensor-parallel rank, their norms, column-parallel
// products that make the heads, and the rotated parts of queries and of the key part that all heads
// share.
#pragma once

#include <vector>

#include "models/blocks/layer_lowering.h"

namespace orrery {

// The nodes that make heads from latent vectors. Recomputation may run them again.
struct LatentHeads {
    Edge* qkv = nullptr;
    std::vector<Node*> makers;
    Node* reader = nullptr;  // its backward pass is the first to read x
};

// Adds the nodes between `x` and packed queries, keys and values. x is the input of the layer's
// column-parallel products.
LatentHeads add_latent_heads(Tape& tape,
                             const Transformer& model,
                             LayerParameters& parameters,
                             Edge& x);

// Adds norms of each head of queries and keys, between the QKV product and attention
// (kernels/rmsnorm/rmsnorm.h). Returns the edge of their output.
Edge& add_head_norms(Tape& tape, LayerParameters& parameters, Edge& qkv);

}  // namespace orrery
