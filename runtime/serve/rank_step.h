// SPDX-License-Identifier: Apache-2.0
// Instances of several ranks, each a process: tensor-parallel ranks share layers, and pipeline
// stages are in sequence. The ranks of instances are consecutive, and all instances have the same
// shape. Rank 0 runs the server and belongs to instance 0. It sends each instance its batches and
// receives the logits. An instance has one batch in flight, so that its stages wait for each other.
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

// The reasons why the model cannot be split this way, each with key, error and hint.
Errors check_cut(const Transformer& model, const RankGrid& grid);

// The part of rank `stage * tensor_size + tensor_rank`.
ModelPart part_of_rank(const Transformer& model, const RankGrid& grid, std::int64_t rank);

// Rank 0's calls to the ranks of an instance.
enum class InstanceCall : std::int32_t { alive, end, compute, send_cache, receive_cache };

// An instance from the view of its ranks and of rank 0. Calls go to all of its ranks; the first
// rank of its last stage answers. The grid must have passed check_cut(). The transport has all
// ranks and must outlive this object.
class InstanceRanks {
public:
    InstanceRanks(const RankGrid& grid, std::int64_t number, Transport& transport);

    const RankGrid& grid() const { return grid_; }
    Transport& transport() { return transport_; }
    std::int64_t first() const { return first_; }
    // Sends a call; on rank 0.
    Result<void> tell(InstanceCall call, std::vector<std::int32_t> words = {});
    // Receives a call; on the other ranks.
    Result<InstanceCall> hear(std::vector<std::int32_t>& words);
    // Called by all: the answering rank sends the values, and rank 0 receives them. Other ranks do
    // nothing.
    Result<void> answer(std::span<float> values);

private:
    RankGrid grid_;
    std::int64_t first_;
    Transport& transport_;
    Communicator calls_;
};

class RankStep {
public:
    RankStep(const ServedModel& served,
             const CacheShape& cache,
             const RankGrid& grid,
             Transport& transport,
             std::int64_t instance = 0);

    // All ranks of the instance call it with the same chunks. `logits` is set on the answering
    // rank, and on rank 0 if it belongs to this instance.
    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits);
    Result<void> send_cache(const CacheMove& move);
    Result<void> receive_cache(const CacheMove& move);
    // Executes rank 0's calls until the end; on the other ranks.
    Result<void> follow();
    InstanceRanks& ranks() { return ranks_; }

private:
    Result<void> obey(InstanceCall call, std::span<const std::int32_t> words);
    Message cache_message(bool is_send, const CacheMove& move, std::span<float> rows) const;
    Result<void> pass(bool is_send, std::int64_t rank, std::span<float> values);
    Result<void> gather(std::int64_t rows, std::span<const float> mine, std::span<float> all);

    InstanceRanks ranks_;
    std::int64_t hidden_;
    std::int64_t vocabulary_;
    std::int64_t rank_;  // index in the instance
    std::int64_t unflushed_ = 0;
    Communicator stage_;
    PagedDecoder decoder_;
};

// Rank 0's interface to an instance, as a server's step.
class HeadStep final : public DecodeStep {
public:
    // For rank 0's own instance.
    explicit HeadStep(RankStep& rank) : ranks_(rank.ranks()), here_(&rank) {}
    // For another instance.
    HeadStep(InstanceRanks& ranks, std::int64_t vocabulary)
        : ranks_(ranks), vocabulary_(vocabulary) {}
    ~HeadStep() override;  // ends the other ranks

    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) override;
    Result<void> send_cache(const CacheMove& move) override;
    Result<void> receive_cache(const CacheMove& move) override;
    Result<void> keep_alive() override;

private:
    Result<void> noted(Result<void> done);

    InstanceRanks& ranks_;
    RankStep* here_ = nullptr;
    std::int64_t vocabulary_ = 0;
    bool failed_ = false;
};

// Batches and moves as 32-bit words for messages.
std::vector<std::int32_t> words_of_chunks(std::span<const DecodeChunk> chunks);
std::vector<DecodeChunk> chunks_of_words(std::span<const std::int32_t> words);
std::vector<std::int32_t> words_of_move(const CacheMove& move);
CacheMove move_of_words(std::span<const std::int32_t> words);

}  // namespace orrery
