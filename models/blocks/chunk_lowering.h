// SPDX-License-Identifier: Apache-2.0
// The lowering of a model chunk of one pipeline stage: its parameters, and the segments of its
// forward and backward pass over one micro-batch. The embedding comes before the first layer of the
// model, and the loss after the last.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/blocks/layer_lowering.h"
#include "models/blocks/prediction_module.h"
#include "models/schedule/schedule.h"

namespace orrery {

struct ChunkShape {
    std::int32_t stage = 0;
    std::int32_t chunk = 0;
    std::int64_t first_layer = 0;
    std::int64_t num_layers = 0;
    bool has_embedding = false;  // first virtual stage
    bool has_head = false;       // last virtual stage
    // plan.vocabulary_parallel: the chunk has a part of the input embedding and of the output layer
    // (models/blocks/shared_vocabulary.h). The last stage makes the output layer's input.
    bool has_vocabulary_part = false;
    bool has_final_norm = false;
};

// The beginning of a layer's ops and tensors: positions in the pass's segment and in
// Program::tensors.
struct LayerPlace {
    std::uint32_t op = 0;
    std::uint32_t tensor = 0;
};

struct Chunk {
    ChunkShape shape;
    std::vector<LayerParameters> layers;
    Parameter embedding;
    Parameter embedding_norm;
    Parameter position;
    Parameter final_norm;
    std::vector<PredictionParameters> predictions;  // modules after the last layer
    Parameter output;
    // The output weight has the tensors of an embedding on this stage, in this chunk or another
    // one.
    bool shares_output = false;

    // Values at the chunk's boundaries, in the layout in which stages send them.
    Value input;
    Value output_value;
    Value input_gradient;
    Value output_gradient;
    // The first stage's, if all stages share the embedding: the sum of their parts, and its
    // gradient.
    Value embedded;
    Value embedded_gradient;

    SegmentId forward{};
    SegmentId backward{};         // gradients of inputs and weights, or of inputs only
    SegmentId backward_weight{};  // weight gradients, if the schedule computes them later
    // For a part of the vocabulary.
    SegmentId loss_input{};
    SegmentId loss_forward{};
    SegmentId loss_backward{};
    SegmentId embedding_forward{};
    SegmentId embedding_gradient{};
    SegmentId embedding_backward{};
    bool splits_backward = false;
    std::optional<SegmentId> backward_whole{};  // both gradients, if only some passes are split

    // The segment of a forward or backward pass.
    SegmentId segment_of(Pass pass) const {
        switch (pass) {
            case Pass::forward:
                return forward;
            case Pass::loss_input:
                return loss_input;
            case Pass::loss_forward:
                return loss_forward;
            case Pass::loss_backward:
                return loss_backward;
            case Pass::embedding_forward:
                return embedding_forward;
            case Pass::embedding_gradient:
                return embedding_gradient;
            case Pass::embedding_backward:
                return embedding_backward;
            case Pass::backward_weight:
                return backward_weight;
            case Pass::backward:
                return backward_whole.value_or(backward);
            default:
                return backward;
        }
    }
    // The place of each layer in the order of the pass, and one more entry for the end of the last
    // layer.
    std::vector<LayerPlace> forward_layers;
    std::vector<LayerPlace> backward_layers;
    std::vector<LayerPlace> weight_layers;

    // In forward order. A tied output weight is listed once.
    std::vector<Parameter*> parameters();
};

// Earlier chunks of the same stage with which a chunk shares tensors.
struct ChunkNeighbours {
    const Chunk* tied = nullptr;    // its embedding is this chunk's output weight, too
    const Chunk* before = nullptr;  // its output is this chunk's input
};

std::unique_ptr<Chunk> lower_chunk(ProgramTables& tables,
                                   const Transformer& model,
                                   const ParallelPlan& plan,
                                   const LayoutAssignment& layouts,
                                   const ChunkShape& shape,
                                   const ChunkNeighbours& neighbours);

}  // namespace orrery
