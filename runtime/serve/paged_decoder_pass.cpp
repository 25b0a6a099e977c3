// SPDX-License-Identifier: Apache-2.0
// The steps of a PagedDecoder.
#include <algorithm>

#include "kernels/activation/activation_cpu.h"
#include "kernels/adapters/adapters_cpu.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/embedding/embedding_cpu.h"
#include "kernels/gemm/gemm_cpu.h"
#include "kernels/layernorm/layernorm_cpu.h"
#include "kernels/residual/residual_cpu.h"
#include "kernels/rmsnorm/rmsnorm_cpu.h"
#include "kernels/rope/rope_cpu.h"
#include "runtime/serve/paged_decoder_layer.h"

namespace orrery {
namespace {

using Values = std::vector<float>;

}  // namespace

// One step: the chunks' tokens are rows, one after the other.
class PagedDecoder::Pass {
public:
    Pass(PagedDecoder& decoder, std::span<const DecodeChunk> chunks)
        : d_(decoder), m_(decoder.model_), chunks_(chunks) {
        for (const DecodeChunk& chunk : chunks) {
            rows_ += static_cast<std::int64_t>(chunk.tokens.size());
            numbers_.resize(static_cast<std::size_t>(rows_), chunk.adapter);
            adapts_ = adapts_ || chunk.adapter >= 0;
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
        stream.resize(matrix_size(rows_, m_.hidden_size));
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
        add_adapters(normed, layer.adapters[AdaptedProduct::qkv], qkv);
        rotate_and_store(number, qkv);
        Values context;
        if (auto done = gathered(attend(number, layer, qkv), context); !done) {
            return done;
        }
        Values branch = product(context, layer.projection, m_.context_size());
        add_adapters(context, layer.adapters[AdaptedProduct::projection], branch);
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
        Values second = product(activated, layer.fc2, m_.ffn_hidden_size);
        add_adapters(activated, layer.adapters[AdaptedProduct::fc2], second);
        return add(std::move(second), {&layer.fc2_bias}, stream);
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

    // Both branches read the same normed stream, and their products are one sum.
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
        add_adapters(activated, layer.adapters[AdaptedProduct::fc2], branch);
        return add(branch, {&layer.projection_bias, &layer.fc2_bias}, stream);
    }

    Result<void> mlp(const Layer& layer, const Values& x, Values& activated) {
        Values fc1 = product(x, layer.fc1, m_.hidden_size, &layer.fc1_bias);
        add_adapters(x, layer.adapters[AdaptedProduct::fc1], fc1);
        const std::int64_t ffn = m_.ffn_hidden_size / d_.part_.tensor_size;
        const cpu::ActivationShape shape{.tokens = rows_, .ffn = ffn};
        Values y(matrix_size(rows_, ffn));
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

    // Keys are turned before they are stored. All rows of the step are stored before attention
    // reads any: sequences of one step may share blocks that one of them computes.
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
        Values output(matrix_size(rows_, columns));
        Values sums;
        for_chunks([&](const DecodeChunk& chunk, std::int64_t first, std::int64_t count) {
            const std::int64_t all = chunk.context + count;
            const ConstTensorView rows = d_.cache_.rows(number, chunk.blocks, all, copy_);
            sums.resize(matrix_size(count, heads_));
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

    // The logits behind the last token of each chunk that samples.
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
        Values mine(matrix_size(samples, share));
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
        Values y(matrix_size(rows_, n));
        cpu::gemm({.m = rows_, .n = n, .k = k},
                  const_view_of(x),
                  const_view_of(weight),
                  view_of(y),
                  {.bias = bias == nullptr ? ConstTensorView{} : const_view_of(*bias)});
        return y;
    }

    // This rank's columns of what the rows' adapters add to a product.
    void add_adapters(const Values& x, const Adapters& adapters, Values& y) const {
        if (!adapts_) {
            return;
        }
        cpu::add_adapters({.rows = rows_,
                           .k = static_cast<std::int64_t>(x.size()) / rows_,
                           .n = static_cast<std::int64_t>(y.size()) / rows_,
                           .rank = d_.adapter_rank_,
                           .adapters = d_.adapters_},
                          {.x = const_view_of(x),
                           .numbers = view_of(std::span<const std::int32_t>{numbers_}),
                           .a = const_view_of(adapters.a),
                           .b = const_view_of(adapters.b),
                           .y = view_of(std::span{y})});
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
    std::int64_t heads_ = 0;  // of this rank
    std::int64_t kv_heads_ = 0;
    std::vector<std::int32_t> numbers_;  // of the rows' adapters
    bool adapts_ = false;
    Values copy_;
};

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
