// SPDX-License-Identifier: Apache-2.0
#include "models/parameters.h"

#include <fmt/format.h>

namespace orrery {
namespace {

std::vector<std::int64_t> stored_shape(const Parameter& p) {
    return p.transposed ? std::vector<std::int64_t>{p.shape[kOutput], p.shape[kInput]} : p.shape;
}

Layout stored_layout(const Parameter& p) {
    Layout layout = p.layout;
    for (DigitPlacement& placement : layout) {
        if (p.transposed && placement.placement == Placement::shard) {
            placement = sharded(placement.dim == kInput ? kOutput : kInput);
        }
    }
    return layout;
}

class ParameterFactory {
public:
    ParameterFactory(ProgramTables& tables, const LayoutAssignment& layouts)
        : tables_(tables), layouts_(layouts) {}

    Parameter make(std::string name,
                   std::int64_t layer,
                   std::int64_t input,
                   std::int64_t output,
                   const Layout& layout,
                   bool transposed = false,
                   std::vector<std::int64_t> column_parts = {}) {
        Parameter p{.name = std::move(name),
                    .layer = layer,
                    .layout = layout,
                    .shape = {input, output},
                    .gradient_layout = {},
                    .transposed = transposed,
                    .column_parts = std::move(column_parts)};
        p.elements = local_elements(p.shape, layout, layouts_.mesh);
        const StateLayouts& state = layouts_.state;
        p.stored = weight(p, "", TensorKind::weights, Lifetime::persistent, state.weights);
        p.weight = p.stored;
        if (state.by_unit()) {
            p.weight = weight(p,
                              " gathered",
                              TensorKind::communication,
                              state.keeps_gathered() ? Lifetime::micro_batch : Lifetime::slot,
                              state.whole);
        }
        if (state.keeps_secondary()) {
            p.secondary = weight(p,
                                 " secondary",
                                 TensorKind::communication,
                                 Lifetime::persistent,
                                 state.secondary_weights);
        }
        p.gradient = gradient(p, "");
        p.gradient_shard = !state.by_unit() ? p.gradient
                                            : tensor(p,
                                                     " gradient shard",
                                                     state.gradient_dtype,
                                                     TensorKind::gradients,
                                                     Lifetime::persistent,
                                                     state.gradients);
        return p;
    }

    // What one backward pass adds to: whole, even where only a shard of it persists.
    TensorId gradient(const Parameter& p, std::string_view use) {
        const StateLayouts& state = layouts_.state;
        return tensor(p,
                      fmt::format(" {}gradient", use),
                      state.gradient_dtype,
                      TensorKind::gradients,
                      state.gradient_buffer,
                      state.whole);
    }

private:
    TensorId weight(const Parameter& p,
                    std::string_view suffix,
                    TensorKind kind,
                    Lifetime lifetime,
                    const Layout& held) {
        return tensor(p, suffix, layouts_.state.weight_dtype, kind, lifetime, held);
    }

    // `held`: its layout along the digits that replicate the model.
    TensorId tensor(const Parameter& p,
                    std::string_view suffix,
                    Dtype dtype,
                    TensorKind kind,
                    Lifetime lifetime,
                    const Layout& held) {
        const Layout model = stored_layout(p);
        const Layout layout = combined(model, held);
        // Of what is whole, but stepped by parts.
        const Layout& optimizer = layouts_.state.optimizer;
        const bool steps =
            lifetime != Lifetime::slot && kind != TensorKind::communication && held != optimizer;
        const std::vector<std::int64_t> shape = stored_shape(p);
        return tables_.tensor(
            {.name = p.name + std::string{suffix},
             .parameter = p.name,
             .dtype = dtype,
             .kind = kind,
             .lifetime = lifetime,
             .global_shape = shape,
             .layout = layout,
             .step_layout = steps ? combined(model, optimizer) : Layout{},
             .column_parts = p.column_parts,
             .bytes = Bytes{local_elements(shape, layout, layouts_.mesh) * size_bytes(dtype)}});
    }

    ProgramTables& tables_;
    const LayoutAssignment& layouts_;
};

LayerParameters layer_parameters_of(ParameterFactory& make,
                                    const Transformer& m,
                                    const LayoutAssignment& l,
                                    std::int64_t layer) {
    LayerParameters p;
    const auto named = [&](std::string_view text) {
        return fmt::format("layers.{}.{}", layer, text);
    };
    const std::int64_t h = m.hidden_size;
    const std::int64_t qkv = m.query_size() + 2 * m.kv_size();
    const std::int64_t fc1 = m.ffn_hidden_size * (m.gated_mlp() ? 2 : 1);
    const std::int64_t norm = m.normalization == Normalization::layernorm ? 2 * h : h;
    p.norm1 = make.make(named("input_layernorm"), layer, 1, norm, l.vector_weight);
    const std::vector<std::int64_t> heads{m.query_size(), m.kv_size(), m.kv_size()};
    const std::vector<std::int64_t> halves =
        m.gated_mlp() ? std::vector<std::int64_t>{m.ffn_hidden_size, m.ffn_hidden_size}
                      : std::vector<std::int64_t>{};
    p.qkv = make.make(
        named("self_attention.linear_qkv.weight"), layer, h, qkv, l.column_weight, false, heads);
    p.projection = make.make(
        named("self_attention.linear_proj.weight"), layer, m.query_size(), h, l.row_weight);
    if (!m.parallel_block) {
        p.norm2 = make.make(named("pre_mlp_layernorm"), layer, 1, norm, l.vector_weight);
    }
    p.fc1 =
        make.make(named("mlp.linear_fc1.weight"), layer, h, fc1, l.column_weight, false, halves);
    p.fc2 = make.make(named("mlp.linear_fc2.weight"), layer, m.ffn_hidden_size, h, l.row_weight);
    if (m.add_bias_linear) {
        p.qkv_bias = make.make(
            named("self_attention.linear_qkv.bias"), layer, 1, qkv, l.column_weight, false, heads);
        p.projection_bias =
            make.make(named("self_attention.linear_proj.bias"), layer, 1, h, l.vector_weight);
        p.fc1_bias =
            make.make(named("mlp.linear_fc1.bias"), layer, 1, fc1, l.column_weight, false, halves);
        p.fc2_bias = make.make(named("mlp.linear_fc2.bias"), layer, 1, h, l.vector_weight);
    }
    return p;
}

}  // namespace

void create_parameters(ProgramTables& tables,
                       const Transformer& model,
                       const LayoutAssignment& layouts,
                       const Chunk* tied,
                       Chunk& chunk) {
    ParameterFactory factory{tables, layouts};
    const ChunkShape& shape = chunk.shape;
    const std::int64_t h = model.hidden_size;
    if (shape.has_embedding) {
        chunk.embedding = factory.make(
            "embedding.word_embeddings.weight", -1, model.vocab_size, h, layouts.embedding);
        if (model.position_embedding == PositionEmbedding::learned) {
            chunk.position = factory.make("embedding.position_embeddings.weight",
                                          -1,
                                          model.seq_length,
                                          h,
                                          layouts.vector_weight);
        }
    }
    for (std::int64_t i = 0; i < shape.num_layers; ++i) {
        chunk.layers.push_back(layer_parameters_of(factory, model, layouts, shape.first_layer + i));
    }
    if (shape.has_head) {
        const std::int64_t norm = model.normalization == Normalization::layernorm ? 2 * h : h;
        chunk.final_norm =
            factory.make("final_layernorm", model.num_layers, 1, norm, layouts.vector_weight);
        const Chunk* shared = tied;
        if (shared == nullptr && model.tied_embeddings && shape.has_embedding) {
            shared = &chunk;
        }
        if (shared != nullptr) {
            chunk.output = shared->embedding;  // the same tensors, read the other way round
            chunk.output.layer = model.num_layers;
            chunk.output.layout = layouts.column_weight;
            chunk.output.shape = {h, model.vocab_size};
            chunk.output.transposed = true;
            if (layouts.state.by_unit()) {
                // Its gradient is scattered long before the embedding's, into the same shard.
                chunk.output.gradient = factory.gradient(chunk.output, "output ");
            }
        } else {
            chunk.output = factory.make("output_layer.weight",
                                        model.num_layers,
                                        h,
                                        model.vocab_size,
                                        layouts.column_weight,
                                        model.tied_embeddings);
            if (model.tied_embeddings) {  // a copy, on another stage than the embedding
                for (const TensorId t : {chunk.output.stored,
                                         chunk.output.weight,
                                         chunk.output.gradient,
                                         chunk.output.gradient_shard}) {
                    tables.program().tensors[index(t)].parameter =
                        "embedding.word_embeddings.weight";
                }
            }
        }
    }
}

std::vector<Parameter*> Chunk::parameters() {
    std::vector<Parameter*> all;
    const auto add = [&](Parameter& p) {
        if (p.elements > 0) {
            all.push_back(&p);
        }
    };
    add(embedding);
    add(position);
    for (LayerParameters& layer : layers) {
        const std::vector<Parameter*> of_layer = layer.present();
        all.insert(all.end(), of_layer.begin(), of_layer.end());
    }
    add(final_norm);
    if (output.elements > 0 && (embedding.elements == 0 || output.stored != embedding.stored)) {
        add(output);
    }
    return all;
}

}  // namespace orrery
