// SPDX-License-Identifier: Apache-2.0
// The forward pass of a transformer over a server's batch, on the CPU kernels. All tokens of the
// batch go through the products together, and attention reads a paged cache.
//
// Every element has the same bits as in the forward pass of a training Program in fp32, whatever
// the rest of the batch: a row of a product is summed in the order of k (kernels/gemm/gemm_cpu.h),
// and the attention of a query in the order of its keys.
//
// Ranks may share the model. Tensor-parallel ranks hold columns of EVERY matrix and gather the
// columns of every result. No sum is split, so that the bits are those of one rank. (Training
// splits the second product of each pair by rows and adds partial sums, which moves half the
// bytes.) Pipeline stages hold layers.
#pragma once

#include <functional>
#include <memory>

#include "runtime/serve/decode_step.h"
#include "runtime/serve/paged_cache.h"
#include "runtime/serve/served_adapters.h"
#include "runtime/serve/served_experts.h"
#include "runtime/serve/served_model.h"

namespace orrery {

// The part of a model on one rank.
struct ModelPart {
    std::int64_t tensor_rank = 0;
    std::int64_t tensor_size = 1;
    std::int64_t first_layer = 0;
    std::int64_t num_layers = 0;
    bool embeds = true;   // on the first stage
    bool samples = true;  // on the last stage
};
// The part of a single rank: the whole model.
ModelPart whole_model(const Transformer& model);

// Gathers the columns of all tensor-parallel ranks: `mine` is [rows, columns], `all` [rows, size *
// columns].
using GatherColumns = std::function<Result<void>(
    std::int64_t rows, std::span<const float> mine, std::span<float> all)>;

class PagedDecoder final : public DecodeStep {
public:
    // The model must come from load_served_model(). `gather` may be empty for one rank.
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
    // Runs one stage. `stream` [tokens, hidden_size] is the result of the stage before, and becomes
    // the input of the next.
    Result<void> run_stage(std::span<const DecodeChunk> chunks,
                           std::vector<float>& stream,
                           std::vector<float>& logits);

    // This rank's keys and values of a sequence's first tokens: layer by layer, one row per token.
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
    std::vector<float> output_;  // [hidden, columns]; with tied embeddings [columns, hidden]
};

}  // namespace orrery
