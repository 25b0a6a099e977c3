// SPDX-License-Identifier: Apache-2.0
// An instance of several ranks, each a process: tensor-parallel ranks share layers, pipeline stages
// follow one another. Rank 0 has the server; it tells the others each batch and gets the logits.
// One batch is under way at a time, so stages wait for each other.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/communication/communicator.h"
#include "runtime/serve/paged_decoder.h"

namespace orrery {

struct RankGrid {
    std::int64_t tensor_size = 1;
    std::int64_t num_stages = 1;
    std::int64_t num_ranks() const { return tensor_size * num_stages; }
};

// What keeps the model from being cut like this, each as a key, what, and a hint.
Errors check_cut(const Transformer& model, const RankGrid& grid);

// Rank `stage * tensor_size + tensor_rank` of the transport.
ModelPart part_of_rank(const Transformer& model, const RankGrid& grid, std::int64_t rank);

class RankStep {
public:
    // The cut must have passed check_cut(); the transport has the grid's ranks and outlives this.
    RankStep(const ServedModel& served,
             const CacheShape& cache,
             const RankGrid& grid,
             Transport& transport);

    // All ranks with the same chunks; `logits` are set on rank 0.
    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits);
    // Of rank 0: tells the others what comes. Nothing: only that it is alive.
    Result<void> tell(std::span<const DecodeChunk> chunks);
    Result<void> tell_end();
    // Of another rank: computes what rank 0 tells, until the end.
    Result<void> follow();

private:
    Result<void> send(std::int64_t to, std::span<float> values);
    Result<void> receive(std::int64_t from, std::span<float> values);
    Result<void> gather(std::int64_t rows, std::span<const float> mine, std::span<float> all);
    Result<void> tell_words(std::vector<std::int32_t> words);

    RankGrid grid_;
    std::int64_t hidden_;
    std::int64_t vocabulary_;
    Transport& transport_;
    std::int64_t rank_;
    Communicator everybody_;
    Communicator stage_;
    PagedDecoder decoder_;
};

// Rank 0's side as a server's step.
class HeadStep final : public DecodeStep {
public:
    explicit HeadStep(RankStep& rank) : rank_(rank) {}
    ~HeadStep() override;  // ends the others

    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) override;
    Result<void> keep_alive() override;

private:
    RankStep& rank_;
    bool failed_ = false;
};

// A batch as words of 32 bits, for a message.
std::vector<std::int32_t> words_of_chunks(std::span<const DecodeChunk> chunks);
std::vector<DecodeChunk> chunks_of_words(std::span<const std::int32_t> words);

}  // namespace orrery
