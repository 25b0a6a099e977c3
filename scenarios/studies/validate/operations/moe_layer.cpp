// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/operations/moe_layer.h"

#include "kernels/cast/cast.h"
#include "kernels/gemm/grouped_gemm.h"
#include "kernels/memory_bound.h"

namespace orrery {
namespace {

// Collects the kernels of one pass.
class LayerKernels {
public:
    explicit LayerKernels(const MoeLayer& layer) : layer_(layer) {}

    std::vector<KernelCall> take() { return std::move(calls_); }

    // Adds a kernel that reads and writes `bytes` in total.
    void moves(double bytes) {
        calls_.push_back(memory_bound_call(KernelKind::transpose,
                                           layer_.compute,
                                           0,
                                           {static_cast<std::int64_t>(bytes), 1, 0, 0, 0, 0},
                                           0,
                                           static_cast<std::int64_t>(bytes)));
    }
    // Adds a kernel that reorders rows of the hidden size.
    void rows_move(double read, double written) {
        moves((read + written) * static_cast<double>(layer_.hidden * size()));
    }
    void elementwise(std::int64_t bytes_of_element) {
        moves(static_cast<double>(layer_.rows() * layer_.width * bytes_of_element));
    }
    void product(std::int64_t n, std::int64_t k) {
        calls_.push_back(grouped_gemm(experts_here(),
                                      layer_.rows() / experts_here(),
                                      n,
                                      k,
                                      layer_.block_fp8 ? Dtype::fp8 : layer_.compute,
                                      layer_.compute,
                                      layer_.block_fp8));
    }
    void weight_gradient(std::int64_t n, std::int64_t k) {
        const std::vector<std::int64_t> rows(static_cast<std::size_t>(experts_here()),
                                             layer_.rows() / experts_here());
        const bool fp32 = layer_.compute == Dtype::bf16;
        calls_.push_back(grouped_gemm_weights(
            {.rows = rows,
             .n = n,
             .k = k,
             .in = layer_.block_fp8 ? Dtype::fp8 : layer_.compute,
             .out = fp32 ? Dtype::fp32 : layer_.compute,
             .epilogue = fp32 ? GemmEpilogue::accumulate : GemmEpilogue::none,
             .block_scaled = layer_.block_fp8}));
    }
    void quantise(std::int64_t rows, std::int64_t columns) {
        if (layer_.block_fp8) {
            calls_.push_back(block_quantise(rows, columns, true));
        }
    }
    void quantise_weights() {
        quantise(experts_here() * layer_.hidden, layer_.width);
        quantise(experts_here() * layer_.hidden, layer_.width);
    }
    // The router's product in FP32, its scores, and the choice of experts.
    void router(bool backward) {
        const std::int64_t t = layer_.tokens;
        const std::int64_t e = layer_.experts;
        calls_.push_back(cast(t * layer_.hidden, Dtype::bf16, Dtype::fp32));
        calls_.push_back(
            gemm(t, e, layer_.hidden, 1, Dtype::fp32, GemmEpilogue::none, Dtype::fp32));
        if (backward) {
            calls_.push_back(
                gemm(e, layer_.hidden, t, 1, Dtype::fp32, GemmEpilogue::none, Dtype::fp32));
        }
        moves(static_cast<double>(4 * t * e * 4));
    }
    // Moves between the order of arrival and that of the experts' products. After an all-to-all the
    // rows are permuted by expert. A dispatcher that sends each row once needs copies for the
    // experts of a rank. FP8 also pads the groups, unless the dispatcher's own permutation does.
    void into_groups() { between(layer_.distinct, static_cast<double>(layer_.rows())); }
    void out_of_groups() { between(static_cast<double>(layer_.rows()), layer_.distinct); }
    bool sends_choices() const { return layer_.dispatcher->copies == RowCopies::choice; }

private:
    void between(double read, double written) {
        const auto rows = static_cast<double>(layer_.rows());
        if (!sends_choices()) {
            rows_move(read, written);
        } else if (experts_here() > 1) {
            rows_move(rows, rows);
        }
        if (layer_.block_fp8 && !layer_.dispatcher->copies_out) {
            rows_move(rows, rows);
        }
    }
    std::int64_t experts_here() const { return layer_.experts / layer_.ranks; }
    std::int64_t size() const { return size_bytes(layer_.compute); }

    const MoeLayer& layer_;
    std::vector<KernelCall> calls_;
};

}  // namespace

std::vector<KernelCall> megatron_forward(const MoeLayer& layer) {
    LayerKernels k(layer);
    const auto tokens = static_cast<double>(layer.tokens);
    const auto rows = static_cast<double>(layer.rows());
    k.router(false);
    if (k.sends_choices()) {
        k.rows_move(tokens, rows);
    }
    k.into_groups();
    k.quantise_weights();
    k.quantise(layer.rows(), layer.hidden);
    k.product(layer.width, layer.hidden);
    k.elementwise(2 + 2);  // GELU
    k.elementwise(2 + 4);  // times FP32 probabilities
    k.elementwise(4 + 2);  // cast back
    k.quantise(layer.rows(), layer.width);
    k.product(layer.hidden, layer.width);
    k.out_of_groups();
    if (k.sends_choices()) {
        k.rows_move(rows, tokens);
    }
    return k.take();
}

std::vector<KernelCall> megatron_backward(const MoeLayer& layer) {
    LayerKernels k(layer);
    const auto tokens = static_cast<double>(layer.tokens);
    const auto rows = static_cast<double>(layer.rows());
    if (k.sends_choices()) {
        k.rows_move(tokens, rows);
    }
    k.into_groups();
    k.quantise(layer.rows(), layer.hidden);
    k.product(layer.width, layer.hidden);
    k.weight_gradient(layer.hidden, layer.width);
    k.elementwise(2 + 4);      // gradient of the cast
    k.elementwise(4 + 4);      // gradient of the product, for GELU's output
    k.elementwise(4 + 2);      // cast of that gradient
    k.elementwise(4 + 2 + 4);  // gradient of the probabilities
    k.elementwise(4);          // its sum over a row
    k.elementwise(2 + 2 + 2);  // gradient of GELU
    k.quantise(layer.rows(), layer.width);
    k.product(layer.hidden, layer.width);
    k.weight_gradient(layer.width, layer.hidden);
    k.out_of_groups();
    if (k.sends_choices()) {
        k.rows_move(rows, tokens);
    }
    k.router(true);
    return k.take();
}

std::vector<KernelCall> tutel_step(const MoeLayer& layer) {
    LayerKernels k(layer);
    const std::int64_t size = size_bytes(layer.compute);
    const auto tokens = static_cast<double>(layer.tokens);
    const auto rows = static_cast<double>(layer.rows());
    k.router(false);
    k.rows_move(tokens, rows);  // encode
    k.product(layer.width, layer.hidden);
    k.elementwise(3 * size);  // bias
    k.elementwise(2 * size);  // ReLU
    k.product(layer.hidden, layer.width);
    k.rows_move(2 * rows, rows);  // bias
    k.rows_move(rows, tokens);    // decode
    k.rows_move(tokens, rows);
    k.rows_move(rows, 0);  // gradient of the bias
    k.product(layer.width, layer.hidden);
    k.weight_gradient(layer.hidden, layer.width);
    k.elementwise(3 * size);
    k.elementwise(size);
    k.product(layer.hidden, layer.width);
    k.weight_gradient(layer.width, layer.hidden);
    k.rows_move(rows, tokens);
    k.router(true);
    // SGD reads weight and gradient and writes the weight.
    k.moves(static_cast<double>(2 * layer.experts * layer.hidden * layer.width * 3 * size));
    return k.take();
}

}  // namespace orrery
