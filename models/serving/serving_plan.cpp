// SPDX-License-Identifier: Apache-2.0
#include "models/serving/serving_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/counter_random.h"
#include "models/transformer/attention_parameters.h"

namespace orrery {

namespace {

constexpr std::int64_t kHalf = 2;  // bytes of a weight in 16 bits
constexpr std::int64_t kHalfBits = 16;

std::int64_t share_of_ranks(std::int64_t elements, std::int64_t ranks) {
    return (elements + ranks - 1) / ranks;
}

// The number of elements of a token's keys and values in a layer, on one of `ranks` ranks that
// share the heads.
std::int64_t key_value_elements(const Transformer& model, std::int64_t ranks) {
    if (model.multi_latent_attention) {
        return model.kv_lora_rank + model.qk_pos_emb_head_dim;
    }
    return 2 * share_of_ranks(model.num_query_groups, ranks) * model.kv_channels;
}

std::int64_t first_layer(const Transformer& model, const ServingPlan& plan, std::int64_t stage) {
    std::int64_t first = 0;
    for (std::int64_t before = 0; before < stage; ++before) {
        first += layers_of_stage(model, plan, before);
    }
    return first;
}

// The number of parameters of a layer's routed experts.
std::int64_t expert_elements(const Transformer& model) {
    return model.num_experts * (model.gated_mlp() ? 3 : 2) * model.hidden_size *
           model.expert_ffn_size();
}

}  // namespace

Dtype dtype_of(ProductPrecision precision) {
    switch (precision) {
        case ProductPrecision::bf16:
            return Dtype::bf16;
        case ProductPrecision::fp16:
            return Dtype::fp16;
        case ProductPrecision::fp8:
        case ProductPrecision::fp4:
            break;
    }
    return Dtype::fp8;
}

std::int64_t bits_of(ProductPrecision precision) {
    return precision == ProductPrecision::fp4 ? 4 : size_bytes(dtype_of(precision)) * 8;
}

ServingPlan plan_of_attention(ServingPlan plan) {
    if (plan.attention_in_16_bits) {
        plan.precision = ProductPrecision::bf16;
        plan.weight_bits = kHalfBits;
        plan.block_scaled = false;
    }
    return plan;
}

std::int64_t layers_of_stage(const Transformer& model,
                             const ServingPlan& plan,
                             std::int64_t stage) {
    const std::int64_t stages = plan.pipeline_model_parallel_size;
    ORRERY_CHECK(stage >= 0 && stage < stages);
    return model.num_layers / stages + (stage < model.num_layers % stages ? 1 : 0);
}

StageLayers stage_layers(const Transformer& model, const ServingPlan& plan, std::int64_t stage) {
    StageLayers layers{.all = layers_of_stage(model, plan, stage)};
    const std::int64_t first = first_layer(model, plan, stage);
    for (std::int64_t layer = first; layer < first + layers.all; ++layer) {
        layers.windowed += model.layer_takes_window(layer) ? 1 : 0;
        layers.experts += model.layer_has_experts(layer) ? 1 : 0;
    }
    return layers;
}

std::int64_t head_copies(const Transformer& model, const ServingPlan& plan, std::int64_t stage) {
    const bool shares =
        !model.multi_latent_attention && model.num_query_groups < model.num_attention_heads;
    return shares ? 2 * layers_of_stage(model, plan, stage) : 0;
}

Bytes key_value_bytes(const Transformer& model, const ServingPlan& plan) {
    return Bytes{key_value_elements(model, 1) * size_bytes(plan.key_value_precision) *
                 model.num_layers};
}

Bytes key_value_bytes_of_rank(const Transformer& model,
                              const ServingPlan& plan,
                              std::int64_t stage) {
    return Bytes{key_value_elements(model, plan.tensor_model_parallel_size) *
                 size_bytes(plan.key_value_precision) * layers_of_stage(model, plan, stage)};
}

Bytes serving_weight_bytes(const Transformer& model, const ServingPlan& plan, std::int64_t stage) {
    const std::int64_t tp = plan.tensor_model_parallel_size;
    const std::int64_t last = plan.pipeline_model_parallel_size - 1;
    const std::int64_t first = first_layer(model, plan, stage);
    const std::int64_t layers = layers_of_stage(model, plan, stage);
    std::int64_t elements = 0;
    for (std::int64_t layer = first; layer < first + layers; ++layer) {
        const std::int64_t experts = model.layer_has_experts(layer) ? expert_elements(model) : 0;
        elements += share_of_ranks(layer_parameters(model, layer) - experts, tp) +
                    (plan.expert_ranks > 0 ? 0 : share_of_ranks(experts, plan.ranks_of_stage()));
    }
    std::int64_t bytes = elements * plan.weight_bits / 8;
    if (plan.attention_in_16_bits) {
        bytes += layers * share_of_ranks(attention_parameters(model), tp) *
                 (kHalfBits - plan.weight_bits) / 8;
    }
    if (stage == 0) {
        bytes += share_of_ranks(embedding_parameters(model), tp) * kHalf;
    }
    if (stage == last) {
        bytes += share_of_ranks(output_parameters(model), tp) * kHalf;
        // A tied output layer on a stage of its own is a second copy.
        if (model.tied_embeddings && last > 0) {
            bytes += share_of_ranks(embedding_parameters(model), tp) * kHalf;
        }
    }
    return Bytes{bytes};
}

Bytes expert_rank_bytes(const Transformer& model, const ServingPlan& plan) {
    std::int64_t elements = 0;
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
        elements += model.layer_has_experts(layer)
                        ? share_of_ranks(expert_elements(model), plan.expert_ranks)
                        : 0;
    }
    return Bytes{elements * plan.weight_bits / 8};
}

Bytes serving_activation_bytes(const Transformer& model,
                               const ServingPlan& plan,
                               std::int64_t tokens,
                               std::int64_t samples) {
    const std::int64_t tp = plan.tensor_model_parallel_size;
    const std::int64_t mlp =
        share_of_ranks((model.gated_mlp() ? 3 : 2) * model.ffn_hidden_size, tp);
    const std::int64_t expert =
        model.num_experts > 0 ? model.moe_router_topk *
                                    (model.hidden_size + share_of_ranks(3 * model.expert_ffn_size(),
                                                                        plan.expert_tensor_size()))
                              : 0;
    const std::int64_t attention =
        share_of_ranks(model.query_size() + model.kv_size() + model.value_size(), tp);
    const std::int64_t widest = std::max({mlp, expert, attention});
    const std::int64_t shared = plan.data_parallel_size;
    return Bytes{share_of_ranks(tokens, shared) * (2 * model.hidden_size + widest) * kHalf +
                 share_of_ranks(samples, shared) * model.vocab_size * (kHalf + 2 * kHalf)};
}

double experts_reached(const Transformer& model, std::int64_t tokens) {
    const double all = static_cast<double>(model.num_experts);
    const double missed = 1 - static_cast<double>(model.moe_router_topk) / all;
    return all * (1 - std::pow(missed, static_cast<double>(tokens)));
}

double experts_reached_in_turn(const Transformer& model, std::int64_t tokens) {
    return static_cast<double>(std::min(model.num_experts, model.moe_router_topk * tokens));
}

namespace {

// The quantile of a density that falls as x^-skew between two bounds.
double load_at(double share, double skew, double least, double most) {
    constexpr double kLogarithmic = 1e-9;
    const double power = 1 - skew;
    if (std::abs(power) < kLogarithmic) {
        return least * std::pow(most / least, share);
    }
    const double from = std::pow(least, power);
    return std::pow(from + (std::pow(most, power) - from) * share, 1 / power);
}

// Scales ascending loads to this sum; no load exceeds `most`.
void scale_to(std::vector<double>& loads, double sum, double most) {
    std::size_t below = loads.size();  // number of loads below `most`
    double left = sum;
    for (bool capped = true; capped && below > 0;) {
        double of_all = 0;
        for (std::size_t i = 0; i < below; ++i) {
            of_all += loads[i];
        }
        const double scale = left / of_all;
        capped = loads[below - 1] * scale > most;
        if (capped) {
            loads[--below] = most;
            left -= most;
        } else {
            std::for_each_n(loads.begin(), below, [&](double& load) { load *= scale; });
        }
    }
}

}  // namespace

std::vector<std::int64_t> rows_of_experts(const Transformer& model,
                                          std::int64_t tokens,
                                          double skew) {
    constexpr double kMostShare = 0.8;
    const auto experts = static_cast<std::size_t>(model.num_experts);
    const std::int64_t rows = tokens * model.moe_router_topk;
    const bool many = rows > model.num_experts;
    const double least = many ? 1 : 0.01;
    const double most = many ? std::max(kMostShare * static_cast<double>(tokens), 1.01) : 2;
    std::vector<double> loads(experts);
    for (std::size_t i = 0; i < experts; ++i) {
        const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(experts);
        loads[i] = load_at(share, skew, least, most);
    }
    scale_to(loads, static_cast<double>(rows), static_cast<double>(tokens));
    // Whole rows whose cumulative sums are nearest to those of the loads.
    std::vector<std::int64_t> whole(experts);
    double sum = 0;
    std::int64_t given = 0;
    for (std::size_t i = 0; i < experts; ++i) {
        sum += loads[i];
        const std::int64_t up_to = i + 1 == experts ? rows : std::llround(sum);
        whole[i] = std::clamp<std::int64_t>(up_to - given, 0, tokens);
        given += whole[i];
    }
    return whole;
}

std::vector<std::int64_t> expert_rows_of_rank(const Transformer& model,
                                              const ServingPlan& plan,
                                              std::int64_t tokens) {
    // Rounding slightly down absorbs the error of `reached` when almost certainly all experts are
    // reached.
    constexpr double kRounding = 1 - 1e-9;
    const std::int64_t ranks = plan.expert_model_parallel_size;
    if (plan.expert_skew <= 0) {
        const double reached = plan.balanced_experts ? experts_reached_in_turn(model, tokens)
                                                     : experts_reached(model, tokens);
        const auto rows = static_cast<double>(tokens * model.moe_router_topk);
        return std::vector(
            static_cast<std::size_t>(std::ceil(reached / static_cast<double>(ranks))),
            static_cast<std::int64_t>(std::ceil(rows / reached * kRounding)));
    }
    std::vector<std::int64_t> rows = rows_of_experts(model, tokens, plan.expert_skew);
    if (ranks == 1) {
        return rows;
    }
    constexpr std::uint32_t kOrder = 0x45787072;  // a stream of random numbers of its own
    CounterRandom random(0, 0, kOrder);
    for (std::size_t i = rows.size(); i > 1; --i) {
        std::swap(rows[i - 1], rows[random.next() % i]);
    }
    const std::ptrdiff_t of_rank = std::max<std::int64_t>(1, model.num_experts / ranks);
    std::vector<std::int64_t> busiest;
    std::int64_t most = -1;
    for (auto rank = rows.begin(); rows.end() - rank >= of_rank; rank += of_rank) {
        const std::int64_t sum = std::accumulate(rank, rank + of_rank, std::int64_t{0});
        if (sum > most) {
            most = sum;
            busiest.assign(rank, rank + of_rank);
        }
    }
    return busiest;
}

}  // namespace orrery
