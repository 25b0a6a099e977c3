// SPDX-License-Identifier: Apache-2.0
#include "models/recomputation.h"

#include <algorithm>

#include "models/flops.h"
#include "models/pipeline_split.h"

namespace orrery {

LayerRecompute recompute_of_layer(const ParallelPlan& plan,
                                  std::int64_t layer,
                                  std::int64_t layers) {
    const std::int64_t number = std::max<std::int64_t>(plan.recompute_num_layers, 1);
    switch (plan.recompute_granularity) {
        case Recompute::none:
            return {};
        case Recompute::selective:
            return {.modules = plan.recompute_modules};
        case Recompute::full:
            break;
    }
    LayerRecompute one{.whole = true, .begins_unit = true, .ends_unit = true};
    switch (plan.recompute_method) {
        case RecomputeMethod::uniform:
            one.begins_unit = layer % number == 0;
            one.ends_unit = (layer + 1) % number == 0 || layer + 1 == layers;
            return one;
        case RecomputeMethod::block:
            return layer < number ? one : LayerRecompute{};
        case RecomputeMethod::every:
            return (layer + 1) % number == 0 ? one : LayerRecompute{};
    }
    return {};
}

bool layers_recompute_alike(const ParallelPlan& plan) {
    return plan.recompute_granularity != Recompute::full ||
           (plan.recompute_method == RecomputeMethod::uniform && plan.recompute_num_layers == 1);
}

namespace {

// The part of latent attention's linear products that makes heads.
double latent_up_share(const Transformer& m) {
    if (!m.multi_latent_attention) {
        return 0;
    }
    const std::int64_t query_input = m.q_lora_rank > 0 ? m.q_lora_rank : m.hidden_size;
    const std::int64_t up = query_input * m.query_size() +
                            m.kv_lora_rank * m.num_attention_heads * (m.qk_head_dim + m.v_head_dim);
    const std::int64_t rest =
        m.hidden_size * (m.q_lora_rank + m.kv_lora_rank + m.qk_pos_emb_head_dim + m.context_size());
    return static_cast<double>(up) / static_cast<double>(up + rest);
}

}  // namespace

RecomputedShare recomputed_share(const Transformer& model, const ParallelPlan& plan) {
    // A module of a layer that is only part of its linear products, as a share of these.
    const double projection = static_cast<double>(model.query_size()) /
                              static_cast<double>(2 * (model.query_size() + model.kv_size()));
    const double up = latent_up_share(model);
    RecomputedShare share;
    double visible = 0;
    std::int64_t number = 0;  // of a layer in the model
    for (const std::int64_t layers : layers_of_stages(model, plan)) {
        for (std::int64_t layer = 0; layer < layers; ++layer, ++number) {
            const LayerRecompute one = recompute_of_layer(plan, layer, layers);
            const bool products = one.has(RecomputeModule::every_second_product);
            const double attention = one.whole || one.has(RecomputeModule::core_attn) ? 1 : 0;
            const auto pairs = static_cast<double>(visible_attention_pairs(model, number));
            share.attention += attention;
            share.visible_attention += attention * pairs;
            visible += pairs;
            share.attention_linear += one.whole                               ? 1
                                      : products && !model.parallel_block     ? projection
                                      : one.has(RecomputeModule::mla_up_proj) ? up
                                                                              : 0;
            // In a parallel block the second product is part of the sum with attention's.
            const double mlp = model.parallel_block ? (model.gated_mlp() ? 2.0 / 3 : 0.5) : 1;
            const RecomputeModule module =
                model.layer_has_experts(number) ? RecomputeModule::moe : RecomputeModule::mlp;
            share.mlp += one.whole ? 1 : (one.has(module) ? mlp : 0);
        }
    }
    const auto all = static_cast<double>(model.num_layers);
    share.attention /= all;
    share.visible_attention /= visible;
    share.attention_linear /= all;
    share.mlp /= all;
    return share;
}

}  // namespace orrery
