// SPDX-License-Identifier: Apache-2.0
// The forward pass of a transformer over a batch of a server, by the CPU kernels: all tokens
// of the batch go through the products together, attention reads a paged cache.
//
// Every element has the bits that the forward pass of a training Program in fp32 gives it, whatever
// else is in the batch: a row of a product is summed in the order of k (kernels/gemm/gemm_cpu.h),
// and attention of a query is summed in the order of its keys.
//
// Ranks may share the model. Tensor-parallel ranks hold columns of EVERY matrix, and gather the
// columns of every result: no sum is cut, so the bits are those of one rank. (Training cuts the
// second product of each pair by rows and adds partial sums instead, which moves half the bytes.)
// Pipeline stages hold layers.
#pragma once

#include <functional>
#include <memory>

#include "runtime/serve/decode_step.h"
#include "runtime/serve/paged_cache.h"
#include "runtime/serve/served_adapters.h"
#include "runtime/serve/served_experts.h"
#include "runtime/serve/served_model.h"

namespace orrery {

// The part of a model that a rank has.
struct ModelPart {
    std::int64_t tensor_rank = 0;
    std::int64_t tensor_size = 1;
    std::int64_t first_layer = 0;
    std::int64_t num_layers = 0;
    bool embeds = true;   // the first stage
    bool samples = true;  // the last one
};
// Everything.
ModelPart whole_model(const Transformer& model);

// Gathers the columns of all tensor-parallel ranks: `mine` is [rows, columns], `all` [rows, size *
// columns].
using GatherColumns = std::function<Result<void>(
    std::int64_t rows, std::span<const float> mine, std::span<float> all)>;

class PagedDecoder final : public DecodeStep {
public:
    // The model must have passed load_served_model(). `gather` may be empty for one rank.
    PagedDecoder(const ServedModel& served,
                 const CacheShape& cache,
                 const ModelPart& part,
                 GatherColumns gather = {});
    PagedDecoder(const ServedModel& served, const CacheShape& cache)
        : PagedDecoder(served, cache, whole_model(served.model)) {}
    ~PagedDecoder() override;
    PagedDecoder(const PagedDecoder&) = delete;
    PagedDecoder& operator=(const PagedDecoder&) = delete;

    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) override;
    // Of a stage: `stream` holds [tokens, hidden_size], what the stage before left and what the
    // next one gets.
    Result<void> run_stage(std::span<const DecodeChunk> chunks,
                           std::vector<float>& stream,
                           std::vector<float>& logits);

    // What this rank has of the keys and values of a sequence's first tokens: layer by layer, a
    // row for each token.
    std::vector<float> read_cache(std::span<const KvBlock> blocks, std::int64_t tokens) const;
    void write_cache(std::span<const KvBlock> blocks,
                     std::int64_t tokens,
                     std::span<const float> rows);
    std::int64_t cache_elements(std::int64_t tokens) const {
        return part_.num_layers * tokens * cache_.width();
    }

private:
    class Pass;
    struct Adapters;
    struct Layer;
    void load_adapters(const ServedModel& served, std::int64_t number, Layer& layer) const;
    ServedExperts experts_of(const ServedModel& served, std::int64_t number) const;
    std::vector<float> columns_of(const ServedModel& served,
                                  const std::string& name,
                                  std::int64_t rows,
                                  std::span<const std::int64_t> parts) const;

    Transformer model_;
    std::int64_t adapters_ = 0;
    std::int64_t adapter_rank_ = 0;
    ModelPart part_;
    GatherColumns gather_;
    PagedCache cache_;
    std::vector<Layer> layers_;
    std::vector<float> embedding_;  // [vocabulary, hidden]
    std::vector<float> positions_;  // [sequence, hidden], or empty
    std::vector<float> final_norm_;
    std::vector<float> output_;  // [hidden, columns], or [columns, hidden] of tied embeddings
};

}  // namespace orrery
