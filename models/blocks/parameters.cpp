// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/parameters.h"

#include <fmt/format.h>

namespace orrery {
namespace {

// Experts are the slowest dimension in memory, so that the matrix of each is contiguous.
std::vector<std::int64_t> stored_shape(const Parameter& p) {
    if (p.of_experts()) {
        return {p.shape[kExpert], p.shape[kInput], p.shape[kOutput]};
    }
    return p.transposed ? std::vector<std::int64_t>{p.shape[kOutput], p.shape[kInput]} : p.shape;
}

Layout stored_layout(const Parameter& p) {
    Layout layout = p.layout;
    for (DigitPlacement& placement : layout) {
        if (p.of_experts() && placement.placement == Placement::shard) {
            placement = sharded((placement.dim + 1) % 3);
        } else if (p.transposed && placement.placement == Placement::shard) {
            placement = sharded(placement.dim == kInput ? kOutput : kInput);
        }
    }
    return layout;
}

// Layer norm has a weight and a bias, RMS norm a weight only.
std::int64_t norm_size(const Transformer& model) {
    const std::int64_t vectors = model.normalization == Normalization::layernorm ? 2 : 1;
    return vectors * model.hidden_size;
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
        return make_of_shape(
            std::move(name), layer, {input, output}, layout, transposed, std::move(column_parts));
    }

    // Makes a parameter of all experts of the model.
    Parameter make_experts(std::string name,
                           std::int64_t layer,
                           std::vector<std::int64_t> shape,
                           const Layout& layout,
                           std::vector<std::int64_t> column_parts = {}) {
        return make_of_shape(
            std::move(name), layer, std::move(shape), layout, false, std::move(column_parts));
    }

    Parameter make_of_shape(std::string name,
                            std::int64_t layer,
                            std::vector<std::int64_t> shape,
                            const Layout& layout,
                            bool transposed,
                            std::vector<std::int64_t> column_parts) {
        Parameter p{.name = std::move(name),
                    .layer = layer,
                    .layout = layout,
                    .shape = std::move(shape),
                    .gradient_layout = {},
                    .transposed = transposed,
                    .column_parts = std::move(column_parts)};
        p.elements = local_elements(p.shape, layout, layouts_.mesh);
        const StateLayouts& state = state_of(layouts_, p);
        const bool offloaded = state.offloads(p.layer);
        p.stored = weight(p, "", TensorKind::weights, Lifetime::persistent, state.weights);
        tables_.program().tensors[index(p.stored)].tier =
            offloaded ? state.weights_tier : MemoryTier::hbm;
        p.weight = p.stored;
        if (state.by_unit() || offloaded) {
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
        p.gradient_shard = p.gradient;
        if (state.gradients_by_unit()) {
            p.gradient_shard = tensor(p,
                                      " gradient shard",
                                      state.gradient_dtype,
                                      TensorKind::gradients,
                                      Lifetime::persistent,
                                      state.gradients);
            tables_.program().tensors[index(p.gradient_shard)].tier = state.gradients_tier;
        }
        return p;
    }

    // The gradient that a backward pass adds to. It is whole even if only a shard of it persists.
    TensorId gradient(const Parameter& p, std::string_view use) {
        const StateLayouts& state = state_of(layouts_, p);
        return tensor(p,
                      fmt::format(" {}gradient", use),
                      state.hands_over_gradients ? state.weight_dtype : state.gradient_dtype,
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

    // `held`: the layout along the digits that replicate the model.
    TensorId tensor(const Parameter& p,
                    std::string_view suffix,
                    Dtype dtype,
                    TensorKind kind,
                    Lifetime lifetime,
                    const Layout& held) {
        const Layout model = stored_layout(p);
        const Layout layout = combined(model, held);
        // The layout during the step, for tensors that are whole but stepped in parts.
        const Layout& optimizer = state_of(layouts_, p).optimizer;
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

class LayerParameterFactory {
public:
    LayerParameterFactory(ParameterFactory& make,
                          const Transformer& model,
                          const LayoutAssignment& layouts,
                          std::int64_t layer)
        : make_(make), m_(model), l_(layouts), layer_(layer) {}

    // In forward order, except that biases come last.
    LayerParameters all() {
        const std::int64_t norm = norm_size(m_);
        p_.norm1 = vector("input_layernorm", norm);
        if (m_.multi_latent_attention) {
            latent_attention();
        } else {
            attention();
        }
        p_.projection = row("self_attention.linear_proj.weight", m_.context_size());
        if (!m_.parallel_block) {
            p_.norm2 = vector("pre_mlp_layernorm", norm);
        }
        if (m_.sandwich_norm) {
            p_.attention_output_norm = vector("post_self_attn_layernorm", norm);
            p_.mlp_output_norm = vector("post_mlp_layernorm", norm);
        }
        if (m_.layer_has_experts(layer_)) {
            experts();
        } else {
            mlp();
        }
        if (m_.qkv_has_bias() && !m_.multi_latent_attention) {
            const std::vector<std::int64_t> heads = query_key_value();
            const std::int64_t qkv = heads[0] + heads[1] + heads[2];
            p_.qkv_bias = column("self_attention.linear_qkv.bias", 1, qkv, heads);
        }
        if (m_.add_bias_linear) {
            biases();
        }
        return std::move(p_);
    }

private:
    std::string named(std::string_view text) const {
        return fmt::format("layers.{}.{}", layer_, text);
    }
    Parameter vector(std::string_view name, std::int64_t elements) {
        return make_.make(named(name), layer_, 1, elements, l_.vector_weight);
    }
    Parameter column(std::string_view name,
                     std::int64_t input,
                     std::int64_t output,
                     const std::vector<std::int64_t>& parts) {
        return make_.make(named(name), layer_, input, output, l_.column_weight, false, parts);
    }
    Parameter row(std::string_view name, std::int64_t input) {
        return make_.make(named(name), layer_, input, m_.hidden_size, l_.row_weight);
    }
    // A weight that every tensor-parallel rank holds whole.
    Parameter whole(std::string_view name, std::int64_t input, std::int64_t output) {
        return make_.make(named(name), layer_, input, output, l_.vector_weight);
    }
    std::vector<std::int64_t> halves(std::int64_t ffn) const {
        return m_.gated_mlp() ? std::vector<std::int64_t>{ffn, ffn} : std::vector<std::int64_t>{};
    }
    std::int64_t fc1_size(std::int64_t ffn) const { return ffn * (m_.gated_mlp() ? 2 : 1); }

    void attention() {
        const std::vector<std::int64_t> heads = query_key_value();
        const std::int64_t qkv = heads[0] + heads[1] + heads[2];
        p_.qkv = column("self_attention.linear_qkv.weight", m_.hidden_size, qkv, heads);
        if (m_.qk_layernorm) {
            p_.query_norm = vector("self_attention.q_layernorm", m_.kv_channels);
            p_.key_norm = vector("self_attention.k_layernorm", m_.kv_channels);
        }
    }

    void latent_attention() {
        const std::int64_t h = m_.hidden_size;
        const std::int64_t latent = m_.kv_lora_rank;
        const std::int64_t heads = m_.num_attention_heads;
        if (m_.q_lora_rank > 0) {
            p_.query_down = whole("self_attention.linear_q_down_proj.weight", h, m_.q_lora_rank);
            p_.query_latent_norm = vector("self_attention.q_layernorm", m_.q_lora_rank);
        }
        p_.query_up = column("self_attention.linear_q_up_proj.weight",
                             m_.q_lora_rank > 0 ? m_.q_lora_rank : h,
                             m_.query_size(),
                             {});
        p_.key_value_down =
            whole("self_attention.linear_kv_down_proj.weight", h, latent + m_.qk_pos_emb_head_dim);
        p_.key_value_latent_norm = vector("self_attention.kv_layernorm", latent);
        p_.key_value_up = column("self_attention.linear_kv_up_proj.weight",
                                 latent,
                                 heads * (m_.qk_head_dim + m_.v_head_dim),
                                 {heads * m_.qk_head_dim, heads * m_.v_head_dim});
    }

    void mlp() {
        const std::int64_t ffn = m_.ffn_hidden_size;
        p_.fc1 = column("mlp.linear_fc1.weight", m_.hidden_size, fc1_size(ffn), halves(ffn));
        p_.fc2 = row("mlp.linear_fc2.weight", ffn);
    }

    std::vector<std::int64_t> query_key_value() const {
        return {m_.query_size(), m_.kv_size(), m_.kv_size()};
    }

    void biases() {
        const std::int64_t ffn = m_.ffn_hidden_size;
        if (!m_.multi_latent_attention) {
            p_.projection_bias = vector("self_attention.linear_proj.bias", m_.hidden_size);
        }
        if (!m_.layer_has_experts(layer_)) {
            p_.fc1_bias = column("mlp.linear_fc1.bias", 1, fc1_size(ffn), halves(ffn));
            p_.fc2_bias = vector("mlp.linear_fc2.bias", m_.hidden_size);
        }
    }

    void experts() {
        const std::int64_t h = m_.hidden_size;
        const std::int64_t ffn = m_.expert_ffn_size();
        const std::int64_t count = m_.num_experts;
        const auto of_experts = [&](std::string_view name,
                                    std::int64_t input,
                                    std::int64_t output,
                                    const Layout& layout,
                                    std::vector<std::int64_t> parts) {
            return make_.make_experts(
                named(name), layer_, {input, output, count}, layout, std::move(parts));
        };
        p_.router = whole("mlp.router.weight", h, count);
        p_.router.in_16_bits = true;
        p_.expert_fc1 = of_experts("mlp.experts.linear_fc1.weight",
                                   h,
                                   fc1_size(ffn),
                                   l_.expert_column_weight,
                                   halves(ffn));
        p_.expert_fc2 =
            of_experts("mlp.experts.linear_fc2.weight", ffn, h, l_.expert_row_weight, {});
        if (m_.add_bias_linear) {
            p_.router_bias = vector("mlp.router.bias", count);
            p_.expert_fc1_bias = of_experts("mlp.experts.linear_fc1.bias",
                                            1,
                                            fc1_size(ffn),
                                            l_.expert_column_weight,
                                            halves(ffn));
            p_.expert_fc2_bias =
                of_experts("mlp.experts.linear_fc2.bias", 1, h, l_.expert_vector_weight, {});
        }
        shared_expert();
    }

    void shared_expert() {
        const std::int64_t ffn = m_.moe_shared_expert_intermediate_size;
        if (ffn == 0) {
            return;
        }
        p_.shared_fc1 = column(
            "mlp.shared_experts.linear_fc1.weight", m_.hidden_size, fc1_size(ffn), halves(ffn));
        p_.shared_fc2 = row("mlp.shared_experts.linear_fc2.weight", ffn);
        if (m_.add_bias_linear) {
            p_.shared_fc1_bias =
                column("mlp.shared_experts.linear_fc1.bias", 1, fc1_size(ffn), halves(ffn));
            p_.shared_fc2_bias = vector("mlp.shared_experts.linear_fc2.bias", m_.hidden_size);
        }
    }

    ParameterFactory& make_;
    const Transformer& m_;
    const LayoutAssignment& l_;
    std::int64_t layer_;
    LayerParameters p_;
};

std::int64_t behind_layers(const Transformer& model) {
    return model.num_layers + model.mtp_num_layers;
}

std::vector<PredictionParameters> prediction_parameters(ParameterFactory& factory,
                                                        const Transformer& model,
                                                        const LayoutAssignment& layouts,
                                                        const ChunkShape& shape) {
    const std::int64_t h = model.hidden_size;
    const std::int64_t norm = norm_size(model);
    std::vector<PredictionParameters> all(static_cast<std::size_t>(model.mtp_num_layers));
    for (std::size_t i = 0; i < all.size(); ++i) {
        PredictionParameters& p = all[i];
        const std::int64_t layer = model.num_layers + static_cast<std::int64_t>(i);
        const auto vector = [&](std::string_view name, std::int64_t inputs, std::int64_t n) {
            return factory.make(
                fmt::format("mtp.layers.{}.{}", i, name), layer, inputs, n, layouts.vector_weight);
        };
        if (!shape.has_embedding) {
            p.embedding = factory.make(fmt::format("mtp.layers.{}.word_embeddings.weight", i),
                                       -1,
                                       model.vocab_size,
                                       h,
                                       layouts.embedding);
        }
        p.embedding_norm = vector("enorm", 1, norm);
        p.stream_norm = vector("hnorm", 1, norm);
        p.projection = vector("eh_proj.weight", 2 * h, h);
        p.layer = LayerParameterFactory{factory, model, layouts, layer}.all();
        p.final_norm = vector("final_layernorm", 1, norm);
    }
    return all;
}

// Each pipeline stage has the same number of rows of the input embedding.
void create_embedding(ParameterFactory& factory,
                      const Transformer& model,
                      const LayoutAssignment& layouts,
                      Chunk& chunk) {
    const bool has_part = chunk.shape.has_vocabulary_part;
    if (chunk.shape.has_embedding || has_part) {
        Layout part = layouts.embedding;
        if (has_part) {
            part[layouts.pipeline_digit] = sharded(kInput);
        }
        chunk.embedding = factory.make(
            "embedding.word_embeddings.weight", -1, model.vocab_size, model.hidden_size, part);
        chunk.embedding.used_twice = chunk.shape.has_head && model.mtp_num_layers > 0;
    }
    if (chunk.shape.has_embedding && model.embed_layernorm) {
        chunk.embedding_norm = factory.make(
            "embedding.word_embeddings.norm", -1, 1, norm_size(model), layouts.vector_weight);
    }
    if (chunk.shape.has_embedding && model.position_embedding == PositionEmbedding::learned) {
        chunk.position = factory.make("embedding.position_embeddings.weight",
                                      -1,
                                      model.seq_length,
                                      model.hidden_size,
                                      layouts.vector_weight);
    }
}

void create_vocabulary_part(ParameterFactory& factory,
                            const Transformer& model,
                            const LayoutAssignment& layouts,
                            Chunk& chunk) {
    if (chunk.shape.has_vocabulary_part) {
        Layout part = layouts.column_weight;
        part[layouts.pipeline_digit] = sharded(kOutput);
        chunk.output = factory.make(
            "output_layer.weight", behind_layers(model), model.hidden_size, model.vocab_size, part);
    }
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
    create_embedding(factory, model, layouts, chunk);
    for (std::int64_t i = 0; i < shape.num_layers; ++i) {
        chunk.layers.push_back(
            LayerParameterFactory{factory, model, layouts, shape.first_layer + i}.all());
    }
    create_vocabulary_part(factory, model, layouts, chunk);
    if (shape.has_head) {
        chunk.predictions = prediction_parameters(factory, model, layouts, shape);
    }
    if (shape.has_head || shape.has_final_norm) {
        const std::int64_t norm = norm_size(model);
        chunk.final_norm =
            factory.make("final_layernorm", behind_layers(model), 1, norm, layouts.vector_weight);
    }
    if (shape.has_head) {
        const Chunk* shared = tied;
        if (shared == nullptr && model.tied_embeddings && shape.has_embedding) {
            shared = &chunk;
        }
        if (shared != nullptr) {
            chunk.output = shared->embedding;  // read transposed
            chunk.shares_output = true;
            chunk.output.layer = behind_layers(model);
            chunk.output.layout = layouts.column_weight;
            chunk.output.shape = {h, model.vocab_size};
            chunk.output.transposed = true;
            if (layouts.state.gradients_by_unit()) {
                // Its gradient is scattered long before the embedding's, into the same shard.
                chunk.output.gradient = factory.gradient(chunk.output, "output ");
            }
        } else {
            chunk.output = factory.make("output_layer.weight",
                                        behind_layers(model),
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
    add(embedding_norm);
    add(position);
    for (LayerParameters& layer : layers) {
        const std::vector<Parameter*> of_layer = layer.present();
        all.insert(all.end(), of_layer.begin(), of_layer.end());
    }
    for (PredictionParameters& prediction : predictions) {
        const std::vector<Parameter*> of_module = prediction.present();
        all.insert(all.end(), of_module.begin(), of_module.end());
    }
    add(final_norm);
    if (!shares_output) {
        add(output);
    }
    return all;
}

}  // namespace orrery
