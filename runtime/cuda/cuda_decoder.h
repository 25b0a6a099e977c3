// SPDX-License-Identifier: Apache-2.0
// The forward pass of a transformer over a batch of a server on one GPU: the products by cuBLASLt,
// attention of single tokens over a paged cache (kernels/paged_attention), and that of prompts by
// the kernels of training over their context, gathered. Rows are padded to powers of two, so that
// few shapes of products are measured.
//
// A step in which every chunk has one token is captured as a CUDA graph once its number of rows has
// been run, and replayed from then on: its kernels read the batch's numbers from memory. A row's
// bits depend on the padded number of rows, and not on the other sequences of the step.
//
// Dense models on one GPU; weights, activations and the cache are fp32 or bf16, logits fp32.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "kernels/gemm/gemm_cuda.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/serve/paged_batch.h"
#include "runtime/serve/served_adapters.h"
#include "runtime/serve/served_model.h"

namespace orrery {

struct CudaDecoderOptions {
    int ordinal = 0;                        // of the machine's GPUs
    std::filesystem::path gemm_algorithms;  // kernels/gemm/gemm_algorithms.h; empty: none
    Dtype dtype = Dtype::bf16;
    std::int64_t step_tokens = 0;     // most tokens of a step
    std::int64_t step_sequences = 0;  // most chunks of a step
    bool graphs = true;
    std::chrono::milliseconds deadline{600'000};  // of waiting for the device to end a step
};

// Why a model is not served on a GPU; empty if it is.
std::string why_not_served_on_cuda(const Transformer& model);

class CudaDecoder final : public DecodeStep {
public:
    // Copies the weights to the device. Errors: no such device, too little memory, or a model that
    // is not served on a GPU.
    static Result<std::unique_ptr<CudaDecoder>> create(const ServedModel& served,
                                                       const CacheShape& cache,
                                                       const CudaDecoderOptions& options);
    ~CudaDecoder() override;

    // An error for a step beyond `step_tokens` or `step_sequences`.
    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) override;

    std::string device_name() const override { return device_->info().name; }

    std::size_t captured() const { return graphs_.size(); }

private:
    // Of one projection (runtime/serve/served_adapters.h); empty where there are none.
    struct Adapters {
        TensorView a, b;
    };
    // On the device, by the served model's names; empty where the model has none.
    struct Layer {
        TensorView norm1, qkv, qkv_bias, projection, projection_bias;
        TensorView norm2, fc1, fc1_bias, fc2, fc2_bias;
        AdaptersOfLayer<Adapters> adapters;
        TensorView cache;
        std::int64_t window = 0;
    };
    // Of a step, each as large as any step needs.
    struct Activations {
        TensorView stream, normed, qkv, context, branch, fc1, activated, last;
        TensorView log_sum_exp;  // of a prompt
        TensorView gathered;     // keys and values of a prompt's context
        TensorView logits;
    };
    // A batch's numbers (PagedBatch).
    struct Numbers {
        TensorView tokens, positions, slots, adapters, contexts, samples, tables;
    };
    // One forward pass: its launches in order.
    class Pass;

    CudaDecoder(const ServedModel& served,
                const CacheShape& cache,
                const CudaDecoderOptions& options)
        : model_(served.model),
          adapters_(served.adapters),
          adapter_rank_(served.adapter_rank),
          cache_(cache),
          options_(options) {}
    Result<void> set_up(const ServedModel& served);
    Result<void> open_device();
    Result<void> upload_weights(const ServedModel& served);
    Result<TensorView> upload(const ServedModel& served, const std::string& name);
    Result<void> allocate();
    Result<void> allocate_numbers();
    Result<TensorView> tensor(std::int64_t size, Dtype dtype, const std::string& what);

    std::int64_t table_width() const;
    Result<void> check(std::span<const DecodeChunk> chunks) const;
    Result<void> send(const PagedBatch& batch);
    Result<void> compute(const PagedBatch& batch);
    Result<void> capture(const PagedBatch& batch, cudaGraphExec_t& graph);
    Result<void> receive(std::int64_t samples, std::vector<float>& logits);
    Result<void> wait_for_end();

    Transformer model_;
    std::int64_t adapters_ = 0;
    std::int64_t adapter_rank_ = 0;
    CacheShape cache_;
    CudaDecoderOptions options_;
    std::unique_ptr<CudaDevice> device_;  // first in, last out
    std::unique_ptr<CudaGemm> gemm_;
    std::vector<Layer> layers_;
    TensorView embedding_, positions_, final_norm_, output_;
    Activations x_;
    Numbers numbers_;
    std::byte* sent_ = nullptr;      // pinned: numbers
    std::byte* received_ = nullptr;  // pinned: logits
    std::byte* scratch_ = nullptr;
    std::int64_t scratch_bytes_ = 0;
    cudaEvent_t end_ = nullptr;
    std::set<std::pair<std::int64_t, std::int64_t>> measured_;  // rows and samples
    std::map<std::int64_t, cudaGraphExec_t> graphs_;            // by rows, of single tokens
};

}  // namespace orrery
