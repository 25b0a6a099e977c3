// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/vocabulary_loss.h"

#include <fmt/format.h>

#include "models/blocks/head_lowering.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

// Sends the last stage's norm to all stages. The other stages have no operand to read.
Value broadcast_norm(BlockBuilder& b, const Value& norm) {
    const LayoutAssignment& layouts = b.layouts;
    Value all = b.value("loss input",
                        b.model.hidden_size,
                        layouts.residual,
                        Lifetime::micro_batch,
                        b.activation_dtype(),
                        TensorKind::communication);
    OpSpec spec{
        .name = "loss input broadcast", .reads = {}, .writes = {all.tensor}, .accumulates = {}};
    if (!norm.empty()) {
        spec.reads = {norm.tensor};
    }
    emit(b.ops,
         {.step = {.kind = CollectiveKind::broadcast, .digits = 1u << layouts.pipeline_digit},
          .to = {},
          .elements = local_elements(all.shape, all.layout, layouts.mesh)},
         {.traffic = Traffic::tensor, .wire = all.dtype},
         spec);
    return all;
}

}  // namespace

void lower_vocabulary_loss(ProgramTables& tables,
                           const Transformer& model,
                           const ParallelPlan& plan,
                           const LayoutAssignment& layouts,
                           Chunk& chunk) {
    const auto builder = [&](std::string_view pass) {
        return BlockBuilder{
            tables, model, plan, layouts, fmt::format("stage {} {}", chunk.shape.stage, pass)};
    };
    BlockBuilder forward = builder("loss");
    const bool last = chunk.shape.has_final_norm;
    Head head;
    head.forward_part(
        forward, broadcast_norm(forward, last ? chunk.output_value : Value{}), chunk.output);
    chunk.loss_forward = forward.ops.finish();
    BlockBuilder backward = builder("loss backward");
    head.finish_loss(backward);
    const Value dn = head.backward_of(backward, chunk.output, nullptr);
    if (last) {
        backward.ops.rename(dn.tensor, chunk.output_gradient.tensor);
        backward.outlive_slot(chunk.output_gradient);
    }
    chunk.loss_backward = backward.ops.finish();
}

}  // namespace orrery
