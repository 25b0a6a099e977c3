// SPDX-License-Identifier: Apache-2.0
// Which activations a plan computes again in the backward pass instead of keeping them, layer by
// layer: Megatron-LM's --recompute-granularity, -method, -num-layers and -modules, and PyTorch's
// selective activation checkpointing (every k-th layer, every second product).
#pragma once

#include <cstdint>

#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct LayerRecompute {
    UnitLayer whole;           // of full recomputation
    LayerParts parts;          // that run again, if not the whole layer
    bool of_products = false;  // they run again together (ModuleRow)

    // What came in is kept as one tensor, for its layer or its unit to begin with.
    bool keeps_input() const { return whole.begins_unit || of_products; }
};

// What layer `layer` (from 0) of a chunk of `layers` computes again.
LayerRecompute recompute_of_layer(const ParallelPlan& plan,
                                  std::int64_t layer,
                                  std::int64_t layers);

// Whether all layers of a chunk keep the same.
bool layers_recompute_alike(const ParallelPlan& plan);

// The part of a step's forward work that runs again.
struct RecomputedShare {
    double attention = 0;          // of all layers' attention cores, all pairs counted
    double visible_attention = 0;  // the same, only the pairs that a mask and a window leave
    double attention_linear = 0;  // of all layers' linear products before and after attention
    double mlp = 0;               // of all layers' MLP products
    double logits = 0;            // of the output layer
};
RecomputedShare recomputed_share(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
