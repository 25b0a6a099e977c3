// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/shared_vocabulary.h"

#include <fmt/format.h>

#include "models/blocks/embedding_rows.h"
#include "models/blocks/head_lowering.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

// Sends a value of one stage to all. The other stages have no operand to read.
Value broadcast_to_stages(BlockBuilder& b, std::string_view name, const Value& own) {
    const LayoutAssignment& layouts = b.layouts;
    Value all = b.value(name,
                        b.model.hidden_size,
                        layouts.residual,
                        Lifetime::micro_batch,
                        b.activation_dtype(),
                        TensorKind::communication);
    OpSpec spec{.name = fmt::format("{} broadcast", name),
                .reads = {},
                .writes = {all.tensor},
                .accumulates = {}};
    if (!own.empty()) {
        spec.reads = {own.tensor};
    }
    emit(b.ops,
         {.step = {.kind = CollectiveKind::broadcast, .digits = 1u << layouts.pipeline_digit},
          .to = {},
          .elements = local_elements(all.shape, all.layout, layouts.mesh)},
         {.traffic = Traffic::tensor, .wire = all.dtype},
         spec);
    b.outlive_slot(all);
    return all;
}

}  // namespace

void lower_shared_vocabulary(ProgramTables& tables,
                             const Transformer& model,
                             const ParallelPlan& plan,
                             const LayoutAssignment& layouts,
                             Chunk& chunk) {
    const auto builder = [&](std::string_view pass) {
        return BlockBuilder{
            tables, model, plan, layouts, fmt::format("stage {} {}", chunk.shape.stage, pass)};
    };
    BlockBuilder embedding = builder("embedding");
    const Value tokens = token_ids(embedding, "tokens");
    const Value sum =
        embedding_rows(embedding, "embedding", chunk.embedding, tokens, Lifetime::micro_batch);
    if (chunk.shape.has_embedding) {
        embedding.ops.rename(sum.tensor, chunk.embedded.tensor);
        embedding.outlive_slot(chunk.embedded);
    }
    chunk.embedding_forward = embedding.ops.finish();
    BlockBuilder gradient = builder("embedding gradient");
    const Value dembedded =
        broadcast_to_stages(gradient, "embedding gradient", chunk.embedded_gradient);
    chunk.embedding_gradient = gradient.ops.finish();
    BlockBuilder rows = builder("embedding backward");
    embedding_row_gradients(rows, "embedding", chunk.embedding, tokens, dembedded);
    chunk.embedding_backward = rows.ops.finish();

    BlockBuilder input = builder("loss input");
    const bool last = chunk.shape.has_final_norm;
    const Value norm =
        broadcast_to_stages(input, "loss input", last ? chunk.output_value : Value{});
    chunk.loss_input = input.ops.finish();
    BlockBuilder forward = builder("loss");
    Head head;
    head.forward_part(forward, norm, chunk.output);
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
