// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/paged_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/activation/activation_cpu.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/embedding/embedding_cpu.h"
#include "kernels/gemm/gemm_cpu.h"
#include "kernels/layernorm/layernorm_cpu.h"
#include "kernels/residual/residual_cpu.h"
#include "kernels/rmsnorm/rmsnorm_cpu.h"
#include "kernels/rope/rope_cpu.h"

namespace orrery {
namespace {

using Values = std::vector<float>;

std::size_t elements(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns);
}

const Values& weight_of(const ServedModel& served, const std::string& name) {
    const auto found = served.weights.find(name);
    ORRERY_CHECK(found != served.weights.end());
    return found->second;
}

}  // namespace

struct PagedDecoder::Layer {
    Values norm1;
    Values qkv;  // [hidden, heads of this rank: queries, keys, values]
    Values qkv_bias;
    Values projection;  // [context, columns of this rank]
    Values projection_bias;
    Values norm2;
    Values fc1;
    Values fc1_bias;
    Values fc2;
    Values fc2_bias;
    ServedExperts experts;  // instead of fc1 and fc2 in a layer with experts
    std::int64_t window = 0;
};

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
    ORRERY_CHECK(whole.size() == elements(rows, width));
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

PagedDecoder::PagedDecoder(const ServedModel& served,
                           const CacheShape& cache,
                           const ModelPart& part,
                           GatherColumns gather)
    : model_(served.model),
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
        if (m.add_bias_linear) {
            layer.qkv_bias = columns_of(served, name("self_attention.linear_qkv.bias"), 1, heads);
            layer.projection_bias = weight_of(served, name("self_attention.linear_proj.bias"));
            layer.fc1_bias = columns_of(served, name("mlp.linear_fc1.bias"), 1, ffn);
            layer.fc2_bias = weight_of(served, name("mlp.linear_fc2.bias"));
        }
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

// One step. Its rows are the chunks' tokens, chunk by chunk.
class PagedDecoder::Pass {
public:
    Pass(PagedDecoder& decoder, std::span<const DecodeChunk> chunks)
        : d_(decoder), m_(decoder.model_), chunks_(chunks) {
        for (const DecodeChunk& chunk : chunks) {
            rows_ += static_cast<std::int64_t>(chunk.tokens.size());
        }
        heads_ = m_.num_attention_heads / d_.part_.tensor_size;
        kv_heads_ = m_.num_query_groups / d_.part_.tensor_size;
    }

    Result<void> run(Values& stream, Values& logits) {
        if (d_.part_.embeds) {
            embed(stream);
        }
        for (std::size_t i = 0; i < d_.layers_.size(); ++i) {
            if (Result<void> done = layer(static_cast<std::int64_t>(i), stream); !done) {
                return done;
            }
        }
        return d_.part_.samples ? head(stream, logits) : Result<void>{};
    }

private:
    void embed(Values& stream) {
        stream.resize(elements(rows_, m_.hidden_size));
        std::vector<std::int32_t> tokens;
        for (const DecodeChunk& chunk : chunks_) {
            tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
        }
        cpu::embedding_forward({.tokens = rows_, .hidden = m_.hidden_size, .rows = m_.vocab_size},
                               view_of(std::span<const std::int32_t>{tokens}),
                               const_view_of(d_.embedding_),
                               view_of(stream));
        if (d_.positions_.empty()) {
            return;
        }
        for_chunks([&](const DecodeChunk& chunk, std::int64_t first, std::int64_t count) {
            cpu::position_forward({.sequence = contiguous_positions(count, chunk.context),
                                   .batch = 1,
                                   .hidden = m_.hidden_size},
                                  const_view_of(d_.positions_),
                                  rows_of(stream, first, count, m_.hidden_size));
        });
    }

    Result<void> layer(std::int64_t number, Values& stream) {
        const Layer& layer = d_.layers_[static_cast<std::size_t>(number)];
        const Values normed = norm(stream, layer.norm1, rows_);
        Values qkv = product(normed, layer.qkv, m_.hidden_size, &layer.qkv_bias);
        rotate_and_store(number, qkv);
        Values context;
        if (auto done = gathered(attend(number, layer, qkv), context); !done) {
            return done;
        }
        Values branch = product(context, layer.projection, m_.context_size());
        if (m_.parallel_block) {
            return end_of_parallel_block(layer, normed, branch, stream);
        }
        if (auto done = add(branch, {&layer.projection_bias}, stream); !done) {
            return done;
        }
        if (!layer.experts.router.empty()) {
            return experts(layer, norm(stream, layer.norm2, rows_), stream);
        }
        Values activated;
        if (auto done = mlp(layer, norm(stream, layer.norm2, rows_), activated); !done) {
            return done;
        }
        return add(product(activated, layer.fc2, m_.ffn_hidden_size), {&layer.fc2_bias}, stream);
    }

    Result<void> experts(const Layer& layer, const Values& x, Values& stream) {
        Values branch;
        const Result<void> done = run_experts(
            m_,
            layer.experts,
            rows_,
            x,
            [&](std::int64_t rows, Values mine, Values& all) {
                return gather_rows(rows, std::move(mine), all);
            },
            branch);
        return done ? add(std::move(branch), {}, stream) : done;
    }

    // Both branches read the same normed stream, and their products are summed together.
    Result<void> end_of_parallel_block(const Layer& layer,
                                       const Values& normed,
                                       Values& branch,
                                       Values& stream) {
        Values activated;
        if (auto done = mlp(layer, normed, activated); !done) {
            return done;
        }
        cpu::gemm({.m = rows_,
                   .n = static_cast<std::int64_t>(branch.size()) / rows_,
                   .k = m_.ffn_hidden_size},
                  const_view_of(activated),
                  const_view_of(layer.fc2),
                  view_of(branch),
                  {.accumulate = true});
        return add(branch, {&layer.projection_bias, &layer.fc2_bias}, stream);
    }

    Result<void> mlp(const Layer& layer, const Values& x, Values& activated) {
        const Values fc1 = product(x, layer.fc1, m_.hidden_size, &layer.fc1_bias);
        const std::int64_t ffn = m_.ffn_hidden_size / d_.part_.tensor_size;
        const cpu::ActivationShape shape{.tokens = rows_, .ffn = ffn};
        Values y(elements(rows_, ffn));
        if (m_.gated_mlp()) {
            cpu::swiglu_forward(
                shape,
                m_.activation == Activation::geglu ? cpu::Gated::geglu : cpu::Gated::swiglu,
                const_view_of(fc1),
                {},
                view_of(y));
        } else {
            cpu::gelu_forward(shape,
                              m_.activation == Activation::squared_relu ? cpu::Ungated::squared_relu
                                                                        : cpu::Ungated::gelu,
                              const_view_of(fc1),
                              {},
                              view_of(y));
        }
        return gathered(std::move(y), activated);
    }

    // Keys are rotated before they are stored. All rows of the step are stored before attention
    // reads any, because sequences of one step may share blocks that one of them computes.
    void rotate_and_store(std::int64_t number, Values& qkv) {
        const std::int64_t width = static_cast<std::int64_t>(qkv.size()) / rows_;
        const std::int64_t queries = heads_ * m_.kv_channels;
        for_chunks([&](const DecodeChunk& chunk, std::int64_t first, std::int64_t count) {
            if (m_.position_embedding == PositionEmbedding::rope) {
                cpu::rope_forward({.sequence = contiguous_positions(count, chunk.context),
                                   .batch = 1,
                                   .heads = heads_,
                                   .kv_heads = kv_heads_,
                                   .head_dim = m_.kv_channels},
                                  rows_of(qkv, first, count, width));
            }
            for (std::int64_t i = 0; i < count; ++i) {
                const auto from = qkv.begin() + (first + i) * width + queries;
                std::copy_n(from,
                            d_.cache_.width(),
                            d_.cache_.row(number, chunk.blocks, chunk.context + i).begin());
            }
        });
    }

    Values attend(std::int64_t number, const Layer& layer, Values& qkv) {
        const std::int64_t width = static_cast<std::int64_t>(qkv.size()) / rows_;
        const std::int64_t columns = heads_ * m_.kv_channels;
        const std::int64_t keys = kv_heads_ * m_.kv_channels;
        Values output(elements(rows_, columns));
        Values sums;
        for_chunks([&](const DecodeChunk& chunk, std::int64_t first, std::int64_t count) {
            const std::int64_t all = chunk.context + count;
            const ConstTensorView rows = d_.cache_.rows(number, chunk.blocks, all, copy_);
            sums.resize(elements(count, heads_));
            const AttentionShape shape{.seq_q = count,
                                       .seq_kv = all,
                                       .heads = heads_,
                                       .kv_heads = kv_heads_,
                                       .head_dim = m_.kv_channels,
                                       .window = layer.window};
            cpu::attention_forward(shape,
                                   {.query = contiguous_positions(count, chunk.context),
                                    .key = contiguous_positions(all)},
                                   {.q = {rows_of(qkv, first, count, width), width, 0},
                                    .k = {rows, d_.cache_.width(), 0},
                                    .v = {rows, d_.cache_.width(), keys},
                                    .output = rows_of(output, first, count, columns),
                                    .log_sum_exp = view_of(sums)});
        });
        return output;
    }

    // The logits after the last token of each chunk that samples.
    Result<void> head(const Values& stream, Values& logits) {
        Values last;
        for_chunks([&](const DecodeChunk& chunk, std::int64_t first, std::int64_t count) {
            if (chunk.samples) {
                const auto row = stream.begin() + (first + count - 1) * m_.hidden_size;
                last.insert(last.end(), row, row + m_.hidden_size);
            }
        });
        const auto samples = static_cast<std::int64_t>(last.size()) / m_.hidden_size;
        logits.clear();
        if (samples == 0) {
            return {};
        }
        const std::int64_t share = m_.vocab_size / d_.part_.tensor_size;
        Values mine(elements(samples, share));
        cpu::gemm(
            {.m = samples, .n = share, .k = m_.hidden_size, .transpose_b = m_.tied_embeddings},
            const_view_of(norm(last, d_.final_norm_, samples)),
            const_view_of(d_.output_),
            view_of(mine));
        return gather_rows(samples, std::move(mine), logits);
    }

    Values norm(const Values& x, const Values& weight, std::int64_t rows) const {
        Values y(x.size());
        const cpu::NormShape shape{.tokens = rows, .hidden = m_.hidden_size};
        const cpu::NormForward operands{
            .x = const_view_of(x), .weight = const_view_of(weight), .y = view_of(y)};
        if (m_.normalization == Normalization::layernorm) {
            cpu::layernorm_forward(shape, operands);
        } else {
            cpu::rmsnorm_forward(shape, operands);
        }
        return y;
    }

    Values product(const Values& x,
                   const Values& weight,
                   std::int64_t k,
                   const Values* bias = nullptr) const {
        const std::int64_t n = static_cast<std::int64_t>(weight.size()) / k;
        Values y(elements(rows_, n));
        cpu::gemm({.m = rows_, .n = n, .k = k},
                  const_view_of(x),
                  const_view_of(weight),
                  view_of(y),
                  {.bias = bias == nullptr ? ConstTensorView{} : const_view_of(*bias)});
        return y;
    }

    Result<void> gathered(Values mine, Values& all) const {
        return gather_rows(rows_, std::move(mine), all);
    }
    Result<void> gather_rows(std::int64_t rows, Values mine, Values& all) const {
        if (d_.part_.tensor_size == 1) {
            all = std::move(mine);
            return {};
        }
        all.resize(mine.size() * static_cast<std::size_t>(d_.part_.tensor_size));
        return d_.gather_(rows, mine, all);
    }

    // stream += branch + biases, in the order of a training step.
    Result<void> add(Values branch, std::initializer_list<const Values*> biases, Values& stream) {
        Values whole;
        if (Result<void> done = gathered(std::move(branch), whole); !done) {
            return done;
        }
        std::vector<ConstTensorView> views;
        for (const Values* bias : biases) {
            if (!bias->empty()) {
                views.push_back(const_view_of(*bias));
            }
        }
        cpu::residual_add_biases(
            m_.hidden_size, const_view_of(stream), const_view_of(whole), views, view_of(stream));
        return {};
    }

    template <class Work>
    void for_chunks(const Work& work) const {
        std::int64_t first = 0;
        for (const DecodeChunk& chunk : chunks_) {
            const auto count = static_cast<std::int64_t>(chunk.tokens.size());
            work(chunk, first, count);
            first += count;
        }
    }
    static TensorView rows_of(Values& values,
                              std::int64_t first,
                              std::int64_t count,
                              std::int64_t width) {
        return slice(view_of(std::span{values}), first * width, count * width);
    }

    PagedDecoder& d_;
    const Transformer& m_;
    std::span<const DecodeChunk> chunks_;
    std::int64_t rows_ = 0;
    std::int64_t heads_ = 0;  // heads of this rank
    std::int64_t kv_heads_ = 0;
    Values copy_;
};

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

Result<void> PagedDecoder::run_stage(std::span<const DecodeChunk> chunks,
                                     std::vector<float>& stream,
                                     std::vector<float>& logits) {
    return Pass{*this, chunks}.run(stream, logits);
}

Result<void> PagedDecoder::run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) {
    std::vector<float> stream;
    return run_stage(chunks, stream, logits);
}

}  // namespace orrery
