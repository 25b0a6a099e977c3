// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (DeepSeek-AI, DeepSeek-V2, arXiv 2405.04434, section 2.1) up to
// attention's own input: latent vectors on every tensor-parallel rank, their norms, heads made from
// them column-parallel, and the rotated parts of queries and of the one key that heads share.
#pragma once

#include <vector>

#include "models/blocks/layer_lowering.h"

namespace orrery {

// The nodes of it that make heads from latent vectors, which recomputation may run again.
struct LatentHeads {
    Edge* qkv = nullptr;
    std::vector<Node*> makers;
    Node* reader = nullptr;  // whose backward pass is the first to read x
};

// Adds the nodes between `x` and packed queries, keys and values. x is what column-parallel
// products of the layer read.
LatentHeads add_latent_heads(Tape& tape,
                             const Transformer& model,
                             LayerParameters& parameters,
                             Edge& x);

// Norms of each head of queries and keys, between the QKV product and attention
// (kernels/rmsnorm/rmsnorm.h). Returns the edge of the normed ones.
Edge& add_head_norms(Tape& tape, LayerParameters& parameters, Edge& qkv);

}  // namespace orrery
