// SPDX-License-Identifier: Apache-2.0
// A model chunk of one pipeline stage: its parameters, and the segments of its forward and backward
// pass over one micro-batch, with the embedding before the first layer and the loss after the last.
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
    // plan.vocabulary_parallel: a part of the output layer (models/blocks/vocabulary_loss.h), of
    // which the last stage makes the input.
    bool has_vocabulary_part = false;
    bool has_final_norm = false;
};

// Where the ops and the tensors of a layer begin: positions in the pass's segment and in
// Program::tensors.
struct LayerPlace {
    std::uint32_t op = 0;
    std::uint32_t tensor = 0;
};

struct Chunk {
    ChunkShape shape;
    std::vector<LayerParameters> layers;
    Parameter embedding;
    Parameter position;
    Parameter final_norm;
    std::vector<PredictionParameters> predictions;  // behind the last layer
    Parameter output;
    // The output weight is an embedding of this stage: the same tensors, this chunk's or another's.
    bool shares_output = false;

    // Boundary values, as they travel between stages.
    Value input;
    Value output_value;
    Value input_gradient;
    Value output_gradient;

    SegmentId forward{};
    SegmentId backward{};         // both gradients, or those of the inputs
    SegmentId backward_weight{};  // weight gradients, where the schedule splits them
    SegmentId loss_forward{};     // of a vocabulary part
    SegmentId loss_backward{};
    bool splits_backward = false;
    std::optional<SegmentId> backward_whole{};  // both, where only some passes are split

    // The segment of a forward or backward pass.
    SegmentId segment_of(Pass pass) const {
        return pass == Pass::forward           ? forward
               : pass == Pass::loss_forward    ? loss_forward
               : pass == Pass::loss_backward   ? loss_backward
               : pass == Pass::backward_weight ? backward_weight
               : pass == Pass::backward        ? backward_whole.value_or(backward)
                                               : backward;
    }
    // The place of each layer, in the order in which the pass takes them, and where the last one
    // ends.
    std::vector<LayerPlace> forward_layers;
    std::vector<LayerPlace> backward_layers;
    std::vector<LayerPlace> weight_layers;

    // In forward order; a tied output weight is not listed twice.
    std::vector<Parameter*> parameters();
};

// Earlier chunks of the same stage that a chunk shares tensors with.
struct ChunkNeighbours {
    const Chunk* tied = nullptr;    // whose embedding is this chunk's output weight too
    const Chunk* before = nullptr;  // whose output is this chunk's input
};

std::unique_ptr<Chunk> lower_chunk(ProgramTables& tables,
                                   const Transformer& model,
                                   const ParallelPlan& plan,
                                   const LayoutAssignment& layouts,
                                   const ChunkShape& shape,
                                   const ChunkNeighbours& neighbours);

}  // namespace orrery
