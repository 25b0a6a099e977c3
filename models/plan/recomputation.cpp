// SPDX-License-Identifier: Apache-2.0
#include "models/plan/recomputation.h"

#include <algorithm>

#include "models/plan/flops.h"
#include "models/plan/pipeline_split.h"

namespace orrery {

LayerRecompute recompute_of_layer(const ParallelPlan& plan,
                                  std::int64_t layer,
                                  std::int64_t layers) {
    switch (plan.recompute_granularity) {
        case Recompute::none:
            return {};
        case Recompute::selective:
            return {.parts = parts_of(plan.recompute_modules),
                    .of_products = (plan.recompute_modules & kProductModules) != 0};
        case Recompute::full:
            break;
    }
    const MethodRow& method = kMethodRows[static_cast<std::size_t>(plan.recompute_method)];
    const std::int64_t number = std::max<std::int64_t>(plan.recompute_num_layers, 1);
    return {.whole = method.of(layer, layers, number)};
}

bool stops_before_last_product(const Transformer& model,
                               const ParallelPlan& plan,
                               std::int64_t layer) {
    const bool calls_product =
        plan.precision == Dtype::fp8 && plan.eager_framework && !plan.compiled;
    const bool ends_in_one_product =
        !model.parallel_block && !model.layer_has_experts(layer) && plan.mlp_tile_tokens == 0;
    return plan.checkpoint_early_stop && model.dropout <= 0 && !model.sandwich_norm &&
           !calls_product && ends_in_one_product;
}

bool layers_recompute_alike(const ParallelPlan& plan) {
    return plan.recompute_granularity != Recompute::full ||
           (plan.recompute_method == RecomputeMethod::uniform && plan.recompute_num_layers == 1);
}

namespace {

// The share of latent attention's linear products that makes heads from latent vectors.
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

// The recomputed shares of a layer's linear products, around attention and in its MLP.
struct LinearShare {
    double attention = 0;
    double mlp = 0;
};

LinearShare linear_share(const Transformer& model,
                         const ParallelPlan& plan,
                         const LayerRecompute& one,
                         std::int64_t layer) {
    const double fc2 = model.gated_mlp() ? 1.0 / 3 : 0.5;
    if (one.whole.again) {
        const bool stops = one.whole.ends_unit && stops_before_last_product(model, plan, layer);
        return {1, stops ? 1 - fc2 : 1};
    }
    const auto of = [&](LayerPart part, double share) { return one.parts.has(part) ? share : 0; };
    const auto queries = static_cast<double>(model.query_size());
    const auto keys = static_cast<double>(model.kv_size());
    const double all = 2 * (queries + keys);
    // In a parallel block both last products belong to one sum, which does not run again.
    const double last = model.parallel_block ? 0 : 1;
    LinearShare share;
    share.attention = of(LayerPart::qkv, (queries + 2 * keys) / all) +
                      of(LayerPart::key, keys / all) +
                      of(LayerPart::projection, last * queries / all) +
                      of(LayerPart::latent_heads, latent_up_share(model));
    if (model.layer_has_experts(layer)) {
        share.mlp = of(LayerPart::experts, 1);
    } else {
        share.mlp = of(LayerPart::fc1, 1 - fc2) +
                    of(LayerPart::up, model.gated_mlp() ? 1.0 / 3 : 0) +
                    of(LayerPart::fc2, last * fc2);
    }
    return share;
}

}  // namespace

RecomputedShare recomputed_share(const Transformer& model, const ParallelPlan& plan) {
    RecomputedShare share;
    double visible = 0;
    std::int64_t number = 0;  // of a layer in the model
    for (const std::int64_t layers : layers_of_stages(model, plan)) {
        for (std::int64_t layer = 0; layer < layers; ++layer, ++number) {
            const LayerRecompute one = recompute_of_layer(plan, layer, layers);
            const LinearShare linear = linear_share(model, plan, one, number);
            const double attention = one.whole.again || one.parts.has(LayerPart::core) ? 1 : 0;
            const auto pairs = static_cast<double>(visible_attention_pairs(model, number));
            share.attention += attention;
            share.visible_attention += attention * pairs;
            visible += pairs;
            share.attention_linear += linear.attention;
            share.mlp += linear.mlp;
        }
    }
    const auto all = static_cast<double>(model.num_layers);
    share.attention /= all;
    share.visible_attention /= visible;
    share.attention_linear /= all;
    share.mlp /= all;
    // A tile of the MLP runs again up to its second product.
    share.mlp += plan.mlp_tile_tokens > 0 ? (model.gated_mlp() ? 2.0 / 3 : 0.5) : 0;
    share.logits = plan.loss_tile_tokens > 0 ? 1 : 0;
    return share;
}

}  // namespace orrery
