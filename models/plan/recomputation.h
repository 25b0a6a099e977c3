// SPDX-License-Identifier: Apache-2.0
// The activations that the backward pass computes again, layer by layer: Megatron-LM's
// --recompute-granularity, -method, -num-layers and -modules, and PyTorch's selective activation
// checkpointing (every k-th layer, every second product).
#pragma once

#include <cstdint>

#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct LayerRecompute {
    UnitLayer whole;           // for full recomputation
    LayerParts parts;          // the parts that run again if not the whole layer does
    bool of_products = false;  // the parts run again together (ModuleRow::of_products)

    // Whether the layer's input is kept as one tensor, from which the layer or its unit runs again.
    bool keeps_input() const { return whole.begins_unit || of_products; }
};

// The recomputation of layer `layer` (from 0) of a chunk of `layers` layers.
LayerRecompute recompute_of_layer(const ParallelPlan& plan,
                                  std::int64_t layer,
                                  std::int64_t layers);

// Whether full recomputation leaves out the last product of a layer: of a dense one, whose branches
// run one after the other. A dropout saves its mask after the product. Of a product in FP8 the
// autograd function runs before PyTorch saves its inputs (torch/csrc/autograd/python_function.cpp),
// unless a compiler removes it.
bool stops_before_last_product(const Transformer& model,
                               const ParallelPlan& plan,
                               std::int64_t layer);

// Whether all layers of a chunk keep the same activations.
bool layers_recompute_alike(const ParallelPlan& plan);

// The shares of a step's forward work that run again.
struct RecomputedShare {
    double attention = 0;          // of all layers' attention cores, all query-key pairs counted
    double visible_attention = 0;  // the same, only visible pairs counted
    double attention_linear = 0;   // of all layers' linear products before and after attention
    double mlp = 0;                // of all layers' MLP products
    double logits = 0;             // of the output layer
};
RecomputedShare recomputed_share(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
