// SPDX-License-Identifier: Apache-2.0
// One forward pass of a CudaDecoder (runtime/cuda/cuda_decoder.h).
#pragma once

#include "kernels/cuda/queue.h"
#include "kernels/paged_attention/paged_attention_cuda.h"
#include "runtime/cuda/cuda_decoder.h"
#include "runtime/gemm_request.h"

namespace orrery {

class CudaDecoder::Pass {
public:
    // The batch's numbers are on the device, and its rows and samples are padded.
    Pass(CudaDecoder& decoder, const PagedBatch& batch);

    // Measures the algorithms of the products; overwrites activations.
    Result<void> prepare();
    Result<void> launch();

private:
    void embed();
    void layer(const Layer& layer);
    void attend(const Layer& layer);
    void attend_prompt(const Layer& layer, const PagedBatch::Prompt& prompt);
    void mlp(const Layer& layer);
    void logits();

    void norm(TensorView x, TensorView weight, std::int64_t rows, TensorView y);
    // stream += branch + biases
    void add_branch(std::span<const TensorView> biases);
    // y [rows, n] = x [rows, k] weight + bias
    struct Product {
        TensorView x, weight, bias, y;
        std::int64_t rows = 0;
        std::int64_t k = 0;
        bool accumulate = false;
        bool transposed = false;  // weight [n, k]
    };
    GemmCall call(const Product& product) const;
    void multiply(const Product& product);
    Product qkv(const Layer& layer) const;
    Product projection(const Layer& layer) const;
    Product fc1(const Layer& layer) const;
    Product fc2(const Layer& layer) const;
    Product output() const;
    device::PagedShape shape(std::int64_t rows, std::int64_t window = 0) const;
    // y += what the rows' adapters add to the product of x.
    void add_adapters(TensorView x, const Adapters& adapters, TensorView y);
    TensorView rows_of(TensorView x, std::int64_t first, std::int64_t rows) const;

    CudaDecoder& d_;
    const Transformer& m_;
    const PagedBatch& batch_;
    Activations x_;  // of this many rows
    device::CudaQueue queue_;
    Result<void> done_;
};

}  // namespace orrery
