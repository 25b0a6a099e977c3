// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/paged_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/serve/paged_decoder_layer.h"

namespace orrery {
namespace {

using Values = std::vector<float>;

const Values& weight_of(const ServedModel& served, const std::string& name) {
    const auto found = served.weights.find(name);
    ORRERY_CHECK(found != served.weights.end());
    return found->second;
}

}  // namespace

ModelPart whole_model(const Transformer& model) {
    return {.num_layers = model.num_layers};
}

// This rank's share of the columns of each part.
Values PagedDecoder::columns_of(const ServedModel& served,
                                const std::string& name,
                                std::int64_t rows,
                                std::span<const std::int64_t> parts) const {
    const Values& whole = weight_of(served, name);
    Values mine;
    std::int64_t width = 0;
    for (const std::int64_t part : parts) {
        width += part;
    }
    ORRERY_CHECK(whole.size() == matrix_size(rows, width));
    for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t first = row * width;
        for (const std::int64_t part : parts) {
            const std::int64_t share = part / part_.tensor_size;
            const auto begin = whole.begin() + first + part_.tensor_rank * share;
            mine.insert(mine.end(), begin, begin + share);
            first += part;
        }
    }
    return mine;
}

// The matrices of experts are stored as rows of one.
ServedExperts PagedDecoder::experts_of(const ServedModel& served, std::int64_t number) const {
    const std::string layer = fmt::format("layers.{}.mlp.", number);
    const std::int64_t f = model_.expert_ffn_size();
    const std::vector<std::int64_t> ffn =
        model_.gated_mlp() ? std::vector{f, f} : std::vector<std::int64_t>{f};
    const std::vector<std::int64_t> hidden{model_.hidden_size};
    const auto bias = served.weights.find(layer + "router.expert_bias");
    return {.router = weight_of(served, layer + "router.weight"),
            .router_bias = bias == served.weights.end() ? Values{} : bias->second,
            .fc1 = columns_of(served,
                              layer + "experts.linear_fc1.weight",
                              model_.num_experts * model_.hidden_size,
                              ffn),
            .fc2 = columns_of(
                served, layer + "experts.linear_fc2.weight", model_.num_experts * f, hidden)};
}

void PagedDecoder::load_adapters(const ServedModel& served,
                                 std::int64_t number,
                                 Layer& layer) const {
    if (served.adapters == 0) {
        return;
    }
    for (const AdaptedProjection& p : adapted_projections(model_, number)) {
        layer.adapters[p.product] = {
            .a = weight_of(served, p.name + ".adapter_a"),
            .b = columns_of(
                served, p.name + ".adapter_b", served.adapters * served.adapter_rank, p.outputs)};
    }
}

PagedDecoder::PagedDecoder(const ServedModel& served,
                           const CacheShape& cache,
                           const ModelPart& part,
                           GatherColumns gather)
    : model_(served.model),
      adapters_(served.adapters),
      adapter_rank_(served.adapter_rank),
      part_(part),
      gather_(std::move(gather)),
      cache_(part.num_layers,
             cache.num_blocks,
             cache.block_size,
             2 * served.model.kv_size() / part.tensor_size) {
    const Transformer& m = model_;
    const std::int64_t h = m.hidden_size;
    const std::int64_t f = m.ffn_hidden_size;
    const std::vector<std::int64_t> heads{m.query_size(), m.kv_size(), m.kv_size()};
    const std::vector<std::int64_t> ffn =
        m.gated_mlp() ? std::vector{f, f} : std::vector<std::int64_t>{f};
    const std::vector<std::int64_t> hidden{h};
    for (std::int64_t i = part.first_layer; i < part.first_layer + part.num_layers; ++i) {
        const auto name = [&](std::string_view text) {
            return fmt::format("layers.{}.{}", i, text);
        };
        Layer layer;
        layer.window = m.layer_has_window(i) ? m.sliding_window : 0;
        layer.norm1 = weight_of(served, name("input_layernorm"));
        layer.qkv = columns_of(served, name("self_attention.linear_qkv.weight"), h, heads);
        layer.projection =
            columns_of(served, name("self_attention.linear_proj.weight"), m.context_size(), hidden);
        if (!m.parallel_block) {
            layer.norm2 = weight_of(served, name("pre_mlp_layernorm"));
        }
        if (m.layer_has_experts(i)) {
            layer.experts = experts_of(served, i);
        } else {
            layer.fc1 = columns_of(served, name("mlp.linear_fc1.weight"), h, ffn);
            layer.fc2 = columns_of(served, name("mlp.linear_fc2.weight"), f, hidden);
        }
        if (m.qkv_has_bias()) {
            layer.qkv_bias = columns_of(served, name("self_attention.linear_qkv.bias"), 1, heads);
        }
        if (m.add_bias_linear) {
            layer.projection_bias = weight_of(served, name("self_attention.linear_proj.bias"));
            layer.fc1_bias = columns_of(served, name("mlp.linear_fc1.bias"), 1, ffn);
            layer.fc2_bias = weight_of(served, name("mlp.linear_fc2.bias"));
        }
        load_adapters(served, i, layer);
        layers_.push_back(std::move(layer));
    }
    const char* const embedding = "embedding.word_embeddings.weight";
    if (part.embeds) {
        embedding_ = weight_of(served, embedding);
        if (m.position_embedding == PositionEmbedding::learned) {
            positions_ = weight_of(served, "embedding.position_embeddings.weight");
        }
    }
    if (part.samples) {
        final_norm_ = weight_of(served, "final_layernorm");
        const std::int64_t share = m.vocab_size / part.tensor_size;
        if (m.tied_embeddings) {
            const Values& whole = weight_of(served, embedding);
            const auto begin = whole.begin() + part.tensor_rank * share * h;
            output_.assign(begin, begin + share * h);
        } else {
            const std::vector<std::int64_t> vocabulary{m.vocab_size};
            output_ = columns_of(served, "output_layer.weight", h, vocabulary);
        }
    }
}

PagedDecoder::~PagedDecoder() = default;

std::vector<float> PagedDecoder::read_cache(std::span<const KvBlock> blocks,
                                            std::int64_t tokens) const {
    Values all;
    Values copy;
    for (std::int64_t layer = 0; layer < part_.num_layers; ++layer) {
        const ConstTensorView rows = cache_.rows(layer, blocks, tokens, copy);
        const auto* first = reinterpret_cast<const float*>(rows.data);
        all.insert(all.end(), first, first + rows.size);
    }
    return all;
}

void PagedDecoder::write_cache(std::span<const KvBlock> blocks,
                               std::int64_t tokens,
                               std::span<const float> rows) {
    ORRERY_CHECK(std::ssize(rows) == cache_elements(tokens));
    auto from = rows.begin();
    for (std::int64_t layer = 0; layer < part_.num_layers; ++layer) {
        for (std::int64_t token = 0; token < tokens; ++token) {
            std::copy_n(from, cache_.width(), cache_.row(layer, blocks, token).begin());
            from += cache_.width();
        }
    }
}

}  // namespace orrery
