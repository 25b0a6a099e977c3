// SPDX-License-Identifier: Apache-2.0
#include "models/plan/flops.h"

#include "engine/base/check.h"
#include "kernels/attention/attention.h"
#include "models/plan/recomputation.h"

namespace orrery {
namespace {

// FLOP of a forward pass over one sequence.
struct ForwardFlops {
    double attention_linear = 0;  // of all layers: QKV product and projection
    double mlp = 0;               // of all layers
    double full_attention = 0;    // of all layers
    double causal_attention = 0;  // of all layers
    double logits = 0;
};

double attention_weights(const Transformer& model) {
    const auto hidden = static_cast<double>(model.hidden_size);
    const auto query = static_cast<double>(model.query_size());
    const auto context = static_cast<double>(model.context_size());
    if (!model.multi_latent_attention) {
        return hidden * (query + 2.0 * static_cast<double>(model.kv_size())) + query * hidden;
    }
    const auto latent = static_cast<double>(model.kv_lora_rank);
    const auto query_latent = static_cast<double>(model.q_lora_rank);
    const auto heads = static_cast<double>(model.num_attention_heads);
    const double queries = model.q_lora_rank > 0 ? query_latent * (hidden + query) : hidden * query;
    return queries + hidden * (latent + static_cast<double>(model.qk_pos_emb_head_dim)) +
           latent * heads * static_cast<double>(model.qk_head_dim + model.v_head_dim) +
           context * hidden;
}

double mlp_weights_of_token(const Transformer& model, std::int64_t layer) {
    const std::int64_t width = model.layer_has_experts(layer)
                                   ? model.moe_router_topk * model.expert_ffn_size() +
                                         model.moe_shared_expert_intermediate_size
                                   : model.ffn_hidden_size;
    return (model.gated_mlp() ? 3.0 : 2.0) * static_cast<double>(model.hidden_size) *
           static_cast<double>(width);
}

ForwardFlops forward_flops(const Transformer& model) {
    const auto layers = static_cast<double>(model.num_layers);
    const auto hidden = static_cast<double>(model.hidden_size);
    const auto tokens = static_cast<double>(model.seq_length);
    double visible = 0;
    double full = 0;
    double mlp_weights = 0;  // parameters of all layers that one token uses
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
        const auto pairs = static_cast<double>(visible_attention_pairs(model, layer));
        visible += pairs;
        full += model.layer_is_linear(layer) ? pairs : tokens * tokens;
        mlp_weights += mlp_weights_of_token(model, layer);
    }
    // Scores and their product with the values: two products of 2 FLOP a pair and channel.
    const auto channels = static_cast<double>(model.query_size() + model.context_size());
    return {.attention_linear = 2.0 * layers * tokens * attention_weights(model),
            .mlp = 2.0 * tokens * mlp_weights,
            .full_attention = 2.0 * full * channels,
            .causal_attention = 2.0 * visible * channels,
            .logits = 2.0 * tokens * hidden * static_cast<double>(model.vocab_size)};
}

// A multi-token prediction module adds a layer like the last one, its own two products, and the
// output layer again.
ForwardFlops with_predictions(const Transformer& model) {
    ForwardFlops all = forward_flops(model);
    if (model.mtp_num_layers == 0) {
        return all;
    }
    Transformer last = model;
    last.mtp_num_layers = 0;
    last.num_layers = 1;
    last.first_k_dense_replace = 0;
    const ForwardFlops one = forward_flops(last);
    const auto modules = static_cast<double>(model.mtp_num_layers);
    const auto hidden = static_cast<double>(model.hidden_size);
    const auto tokens = static_cast<double>(model.seq_length);
    all.attention_linear += modules * one.attention_linear;
    all.mlp += modules * (one.mlp + 2.0 * tokens * (2 * hidden * hidden + 3 * hidden));
    all.full_attention += modules * one.full_attention;
    all.causal_attention += modules * one.causal_attention;
    all.logits += modules * one.logits;
    return all;
}

}  // namespace

std::int64_t visible_attention_pairs(const Transformer& model, std::int64_t layer) {
    if (model.layer_is_linear(layer)) {
        // A key and a value make their term of the matrix, and a query reads it: two products of
        // head_dim x head_dim. That is the FLOP of head_dim query-key pairs.
        return model.seq_length * model.kv_channels;
    }
    return visible_pairs(
        {.seq_q = model.seq_length,
         .seq_kv = model.seq_length,
         .causal = true,
         .window = model.layer_has_window(layer) ? model.sliding_window : std::int64_t{0}});
}

namespace {

ModelFlops counted(const Transformer& model, std::int64_t sequences, const RecomputedShare& again) {
    const ForwardFlops forward = with_predictions(model);
    const auto batch = static_cast<double>(sequences);
    const double linear = forward.attention_linear + forward.mlp;
    const auto model_count = [&](double attention) {
        return Flop{3.0 * batch * (linear + attention + forward.logits)};
    };
    const auto recomputed = [&](double attention) {
        return Flop{batch * (again.attention_linear * forward.attention_linear +
                             again.mlp * forward.mlp + again.logits * forward.logits + attention)};
    };
    const Flop full = model_count(forward.full_attention);
    const Flop causal = model_count(forward.causal_attention);
    return {.full_attention = full,
            .causal_attention = causal,
            .hardware_full_attention = full + recomputed(again.attention * forward.full_attention),
            .hardware_causal_attention =
                causal + recomputed(again.visible_attention * forward.causal_attention)};
}

}  // namespace

ModelFlops model_flops(const Transformer& model, std::int64_t sequences) {
    return counted(model, sequences, {});
}

ModelFlops model_flops(const Transformer& model, const ParallelPlan& plan) {
    return counted(model, plan.global_batch_size, recomputed_share(model, plan));
}

double flops_utilization(Flop work, Time step, FlopRate peak_of_one_gpu, std::int64_t num_gpus) {
    ORRERY_CHECK(step > Time{} && num_gpus > 0);
    return work.count() /
           (step.seconds() * peak_of_one_gpu.per_second() * static_cast<double>(num_gpus));
}

}  // namespace orrery
