// SPDX-License-Identifier: Apache-2.0
// Instances of several ranks, each a process: tensor-parallel ranks share layers, pipeline stages
// follow one another. Instances follow one another, too, and are cut alike. Rank 0 has the server,
// and is of instance 0; it tells the ranks of each instance its batches and gets the logits. One
// batch of an instance is under way at a time, so stages wait for each other.
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

// What rank 0 tells the ranks of an instance.
enum class InstanceCall : std::int32_t { alive, end, compute, send_cache, receive_cache };

// One of a job's instances, as its ranks and rank 0 see it: calls go to all of its ranks, and the
// first rank of its last stage answers. The cut must have passed check_cut(); the transport has the
// ranks and outlives this.
class InstanceRanks {
public:
    InstanceRanks(const RankGrid& grid, std::int64_t number, Transport& transport);

    const RankGrid& grid() const { return grid_; }
    Transport& transport() { return transport_; }
    std::int64_t first() const { return first_; }
    // Of rank 0.
    Result<void> tell(InstanceCall call, std::vector<std::int32_t> words = {});
    // Of the others.
    Result<InstanceCall> hear(std::vector<std::int32_t>& words);
    // Of all: rank 0 gets the values, the answering rank has them. Others have nothing to do.
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

    // All ranks of the instance with the same chunks; `logits` are set on the answering rank, and
    // on rank 0 if it is of this instance.
    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits);
    Result<void> send_cache(const CacheMove& move);
    Result<void> receive_cache(const CacheMove& move);
    // Of another rank: computes what rank 0 tells, until the end.
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
    std::int64_t rank_;  // within the instance
    std::int64_t unflushed_ = 0;
    Communicator stage_;
    PagedDecoder decoder_;
};

// Rank 0's side of an instance as a server's step.
class HeadStep final : public DecodeStep {
public:
    // Of the instance that rank 0 is of.
    explicit HeadStep(RankStep& rank) : ranks_(rank.ranks()), here_(&rank) {}
    // Of another one.
    HeadStep(InstanceRanks& ranks, std::int64_t vocabulary)
        : ranks_(ranks), vocabulary_(vocabulary) {}
    ~HeadStep() override;  // ends the others

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

// A batch as words of 32 bits, for a message.
std::vector<std::int32_t> words_of_chunks(std::span<const DecodeChunk> chunks);
std::vector<DecodeChunk> chunks_of_words(std::span<const std::int32_t> words);
std::vector<std::int32_t> words_of_move(const CacheMove& move);
CacheMove move_of_words(std::span<const std::int32_t> words);

}  // namespace orrery
