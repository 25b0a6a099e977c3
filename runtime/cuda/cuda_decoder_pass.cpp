// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_decoder_pass.h"

#include <array>
#include <optional>
#include <vector>

#include "kernels/activation/activation_cuda.h"
#include "kernels/adapters/adapters_cuda.h"
#include "kernels/attention/attention_cuda.h"
#include "kernels/embedding/embedding_cuda.h"
#include "kernels/layernorm/layernorm_cuda.h"
#include "kernels/residual/residual_cuda.h"
#include "kernels/rmsnorm/rmsnorm_cuda.h"
#include "kernels/rope/rope_cpu.h"
#include "runtime/cuda/cuda_result.h"

namespace orrery {
namespace {

// The first `rows` of a tensor that has rows of `width`.
TensorView first_rows(TensorView x, std::int64_t rows, std::int64_t width) {
    return slice(x, 0, rows * width);
}

ConstTensorView first_numbers(TensorView x, std::int64_t count) {
    return slice(x, 0, count);
}

}  // namespace

CudaDecoder::Pass::Pass(CudaDecoder& decoder, const PagedBatch& batch)
    : d_(decoder),
      m_(decoder.model_),
      batch_(batch),
      x_(decoder.x_),
      queue_(decoder.device_->stream(kComputeStream), decoder.scratch_, decoder.scratch_bytes_) {
    const std::int64_t rows = batch.rows;
    const std::int64_t h = m_.hidden_size;
    for (TensorView* x : {&x_.stream, &x_.normed, &x_.branch}) {
        *x = first_rows(*x, rows, h);
    }
    x_.qkv = first_rows(x_.qkv, rows, shape(rows).packed_width());
    x_.context = first_rows(x_.context, rows, m_.context_size());
    x_.fc1 = first_rows(x_.fc1, rows, (m_.gated_mlp() ? 2 : 1) * m_.ffn_hidden_size);
    x_.activated = first_rows(x_.activated, rows, m_.ffn_hidden_size);
    const std::int64_t samples = std::ssize(batch.samples);
    x_.last = first_rows(x_.last, samples, h);
    x_.logits = first_rows(x_.logits, samples, m_.vocab_size);
}

device::PagedShape CudaDecoder::Pass::shape(std::int64_t rows, std::int64_t window) const {
    return {.rows = rows,
            .heads = m_.num_attention_heads,
            .kv_heads = m_.num_query_groups,
            .head_dim = m_.kv_channels,
            .block_size = d_.cache_.block_size,
            .table_width = d_.table_width(),
            .window = window};
}

Result<void> CudaDecoder::Pass::prepare() {
    const Layer& first = d_.layers_.front();
    std::vector<Product> products{qkv(first), projection(first), fc1(first), fc2(first)};
    if (!batch_.samples.empty()) {
        products.push_back(output());
    }
    for (const Product& product : products) {
        const GemmCall made = call(product);
        if (Result<void> done =
                d_.gemm_->prepare(made.request, made.pointers, d_.device_->stream(kComputeStream));
            !done) {
            return done;
        }
    }
    return d_.gemm_->save();
}

Result<void> CudaDecoder::Pass::launch() {
    embed();
    for (const Layer& each : d_.layers_) {
        layer(each);
    }
    if (!batch_.samples.empty()) {
        logits();
    }
    return done_ ? cuda_result(static_cast<cudaError_t>(queue_.error()), "a kernel of a step")
                 : done_;
}

void CudaDecoder::Pass::embed() {
    const std::int64_t rows = batch_.rows;
    device::embedding_forward(queue_,
                              {.tokens = rows, .hidden = m_.hidden_size, .rows = m_.vocab_size},
                              first_numbers(d_.numbers_.tokens, rows),
                              d_.embedding_,
                              x_.stream);
    if (!d_.positions_.empty()) {
        device::embedding_forward(
            queue_,
            {.tokens = rows, .hidden = m_.hidden_size, .rows = d_.positions_.size / m_.hidden_size},
            first_numbers(d_.numbers_.positions, rows),
            d_.positions_,
            x_.branch);
        device::residual_add(queue_, x_.stream, x_.branch, x_.stream);
    }
}

void CudaDecoder::Pass::layer(const Layer& layer) {
    norm(x_.stream, layer.norm1, batch_.rows, x_.normed);
    multiply(qkv(layer));
    add_adapters(x_.normed, layer.adapters[AdaptedProduct::qkv], x_.qkv);
    device::rotate_and_store(queue_,
                             shape(batch_.rows),
                             {.qkv = x_.qkv,
                              .positions = first_numbers(d_.numbers_.positions, batch_.rows),
                              .slots = first_numbers(d_.numbers_.slots, batch_.rows),
                              .cache = layer.cache,
                              .rope_base = m_.position_embedding == PositionEmbedding::rope
                                               ? std::optional{cpu::RopeShape{}.base}
                                               : std::nullopt});
    attend(layer);
    multiply(projection(layer));
    add_adapters(x_.context, layer.adapters[AdaptedProduct::projection], x_.branch);
    if (m_.parallel_block) {  // both branches read the same rows, and their products are one sum
        mlp(layer);
        add_branch(std::array{layer.projection_bias, layer.fc2_bias});
        return;
    }
    add_branch(std::array{layer.projection_bias});
    norm(x_.stream, layer.norm2, batch_.rows, x_.normed);
    mlp(layer);
    add_branch(std::array{layer.fc2_bias});
}

void CudaDecoder::Pass::attend(const Layer& layer) {
    if (const std::int64_t rows = batch_.single_rows; rows > 0) {
        const device::PagedShape paged = shape(rows, layer.window);
        device::paged_attention(
            queue_,
            paged,
            {.qkv = rows_of(x_.qkv, 0, rows),
             .cache = layer.cache,
             .contexts = first_numbers(d_.numbers_.contexts, rows),
             .tables = first_numbers(d_.numbers_.tables, rows * paged.table_width),
             .output = rows_of(x_.context, 0, rows)});
    }
    for (const PagedBatch::Prompt& prompt : batch_.prompts) {
        attend_prompt(layer, prompt);
    }
}

void CudaDecoder::Pass::attend_prompt(const Layer& layer, const PagedBatch::Prompt& prompt) {
    const device::PagedShape paged = shape(prompt.tokens, layer.window);
    const std::int64_t all = prompt.context + prompt.tokens;
    const std::int64_t keys = paged.kv_heads * paged.head_dim;
    const TensorView rows = slice(x_.gathered, 0, all * paged.cache_width());
    device::gather_context(
        queue_,
        paged,
        {.cache = layer.cache,
         .table = slice(d_.numbers_.tables, prompt.table * paged.table_width, paged.table_width),
         .rows = rows});
    device::attention_forward(
        queue_,
        AttentionShape{.seq_q = prompt.tokens,
                       .seq_kv = all,
                       .heads = paged.heads,
                       .kv_heads = paged.kv_heads,
                       .head_dim = paged.head_dim,
                       .window = layer.window},
        {.query = contiguous_positions(prompt.tokens, prompt.context),
         .key = contiguous_positions(all)},
        {.q = {rows_of(x_.qkv, prompt.first_row, prompt.tokens), paged.packed_width(), 0},
         .k = {rows, paged.cache_width(), 0},
         .v = {rows, paged.cache_width(), keys},
         .output = rows_of(x_.context, prompt.first_row, prompt.tokens),
         .log_sum_exp = slice(x_.log_sum_exp, 0, prompt.tokens * paged.heads)},
        nullptr);
}

void CudaDecoder::Pass::mlp(const Layer& layer) {
    multiply(fc1(layer));
    add_adapters(x_.normed, layer.adapters[AdaptedProduct::fc1], x_.fc1);
    const cpu::ActivationShape activation{.tokens = batch_.rows, .ffn = m_.ffn_hidden_size};
    if (m_.gated_mlp()) {
        const auto gated =
            m_.activation == Activation::geglu ? cpu::Gated::geglu : cpu::Gated::swiglu;
        device::swiglu_forward(queue_, activation, gated, x_.fc1, {}, x_.activated);
    } else {
        const auto ungated = m_.activation == Activation::squared_relu ? cpu::Ungated::squared_relu
                                                                       : cpu::Ungated::gelu;
        device::gelu_forward(queue_, activation, ungated, x_.fc1, {}, x_.activated);
    }
    multiply(fc2(layer));
    add_adapters(x_.activated, layer.adapters[AdaptedProduct::fc2], x_.branch);
}

void CudaDecoder::Pass::logits() {
    const std::int64_t samples = std::ssize(batch_.samples);
    device::embedding_forward(queue_,
                              {.tokens = samples, .hidden = m_.hidden_size, .rows = batch_.rows},
                              first_numbers(d_.numbers_.samples, samples),
                              x_.stream,
                              x_.last);
    norm(x_.last, d_.final_norm_, samples, first_rows(x_.normed, samples, m_.hidden_size));
    multiply(output());
}

void CudaDecoder::Pass::norm(TensorView x, TensorView weight, std::int64_t rows, TensorView y) {
    const cpu::NormShape norm{.tokens = rows, .hidden = m_.hidden_size};
    const cpu::NormForward operands{.x = x, .weight = weight, .y = y};
    if (m_.normalization == Normalization::layernorm) {
        device::layernorm_forward(queue_, norm, operands);
    } else {
        device::rmsnorm_forward(queue_, norm, operands);
    }
}

void CudaDecoder::Pass::add_branch(std::span<const TensorView> biases) {
    std::vector<ConstTensorView> present;
    for (const TensorView& bias : biases) {
        if (!bias.empty()) {
            present.push_back(bias);
        }
    }
    device::residual_add_biases(queue_, m_.hidden_size, x_.stream, x_.branch, present, x_.stream);
}

CudaDecoder::Pass::Product CudaDecoder::Pass::qkv(const Layer& layer) const {
    return {.x = x_.normed,
            .weight = layer.qkv,
            .bias = layer.qkv_bias,
            .y = x_.qkv,
            .rows = batch_.rows,
            .k = m_.hidden_size};
}
CudaDecoder::Pass::Product CudaDecoder::Pass::projection(const Layer& layer) const {
    return {.x = x_.context,
            .weight = layer.projection,
            .y = x_.branch,
            .rows = batch_.rows,
            .k = m_.context_size()};
}
CudaDecoder::Pass::Product CudaDecoder::Pass::fc1(const Layer& layer) const {
    return {.x = x_.normed,
            .weight = layer.fc1,
            .bias = layer.fc1_bias,
            .y = x_.fc1,
            .rows = batch_.rows,
            .k = m_.hidden_size};
}
CudaDecoder::Pass::Product CudaDecoder::Pass::fc2(const Layer& layer) const {
    return {.x = x_.activated,
            .weight = layer.fc2,
            .y = x_.branch,
            .rows = batch_.rows,
            .k = m_.ffn_hidden_size,
            .accumulate = m_.parallel_block};
}
CudaDecoder::Pass::Product CudaDecoder::Pass::output() const {
    return {.x = first_rows(x_.normed, std::ssize(batch_.samples), m_.hidden_size),
            .weight = d_.output_,
            .y = x_.logits,
            .rows = std::ssize(batch_.samples),
            .k = m_.hidden_size,
            .transposed = m_.tied_embeddings};
}

GemmCall CudaDecoder::Pass::call(const Product& p) const {
    return aligned_call(
        {.request = {.m = p.rows,
                     .n = p.weight.size / p.k,
                     .k = p.k,
                     .in = p.x.dtype,
                     .out = p.y.dtype,
                     .transpose_b = p.transposed,
                     .epilogue = p.bias.empty() ? GemmEpilogue::none : GemmEpilogue::bias,
                     .accumulate = p.accumulate},
         .pointers = {.a = p.x.data, .b = p.weight.data, .c = p.y.data, .bias = p.bias.data}});
}

void CudaDecoder::Pass::multiply(const Product& product) {
    const GemmCall made = call(product);
    done_ = done_ ? d_.gemm_->run(made.request, made.pointers, d_.device_->stream(kComputeStream))
                  : done_;
}

void CudaDecoder::Pass::add_adapters(TensorView x, const Adapters& adapters, TensorView y) {
    if (adapters.a.empty()) {
        return;
    }
    device::add_adapters(queue_,
                         {.rows = batch_.rows,
                          .k = x.size / batch_.rows,
                          .n = y.size / batch_.rows,
                          .rank = d_.adapter_rank_,
                          .adapters = d_.adapters_},
                         {.x = x,
                          .numbers = first_numbers(d_.numbers_.adapters, batch_.rows),
                          .a = adapters.a,
                          .b = adapters.b,
                          .y = y});
}

TensorView CudaDecoder::Pass::rows_of(TensorView x, std::int64_t first, std::int64_t rows) const {
    const std::int64_t width = x.size / batch_.rows;
    return slice(x, first * width, rows * width);
}

}  // namespace orrery
