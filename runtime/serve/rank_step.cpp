// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/rank_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace orrery {
namespace {

// Ids of an instance's communicators and of its messages (communicator.h: message_tag()). Two
// instances have at most one rank in common, so that they can use the same ids.
constexpr std::uint32_t kCalls = 1;
constexpr std::uint32_t kStages = 2;  // and the ids after it, one per stage
constexpr std::uint32_t kBetweenStages = 0x00FF'FFFE;
constexpr std::uint32_t kAnswers = 0x00FF'FFFD;
constexpr std::uint32_t kCaches = 0x00FF'FFFC;

constexpr std::int64_t kMostCopies = 32;  // of sent caches

// A call's kind and its number of words, then as many words as fit; a longer call has a second
// message. One message with unused space is better than two, because every message wakes two
// threads, which takes longer than a kilobyte.
constexpr std::size_t kCallWords = 256;
using CallHead = std::array<std::int32_t, 2 + kCallWords>;

std::vector<std::uint32_t> ranks_from(std::int64_t first, std::int64_t count) {
    std::vector<std::uint32_t> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), static_cast<std::uint32_t>(first));
    return ranks;
}

// Rank 0, the caller, comes first.
std::vector<std::uint32_t> called_ranks(std::int64_t first, std::int64_t count) {
    std::vector<std::uint32_t> ranks = ranks_from(first, count);
    if (first > 0) {
        ranks.insert(ranks.begin(), 0);
    }
    return ranks;
}

TensorView view_of_words(std::span<std::int32_t> words) {
    return {reinterpret_cast<std::byte*>(words.data()), Dtype::int32, std::ssize(words)};
}

std::span<std::byte> bytes_of(std::span<float> values) {
    return std::as_writable_bytes(values);
}

struct StepRows {
    std::int64_t tokens = 0;
    std::int64_t samples = 0;
};

StepRows rows_of(std::span<const DecodeChunk> chunks) {
    StepRows rows;
    for (const DecodeChunk& chunk : chunks) {
        rows.tokens += std::ssize(chunk.tokens);
        rows.samples += chunk.samples ? 1 : 0;
    }
    return rows;
}

// The number of logits; one element if no chunk samples.
std::size_t answered_elements(const StepRows& rows, std::int64_t vocabulary) {
    return rows.samples == 0 ? 1 : static_cast<std::size_t>(rows.samples * vocabulary);
}

}  // namespace

Errors check_cut(const Transformer& model, const RankGrid& grid) {
    Errors errors;
    const auto divide = [&](std::int64_t value, const char* what) {
        if (value % grid.tensor_size != 0) {
            errors.push_back(
                {"serving.pools.tensor_model_parallel_size",
                 fmt::format("{} ranks can't share {} {} equally", grid.tensor_size, value, what),
                 "a divisor of it"});
        }
    };
    divide(model.num_attention_heads, "attention heads");
    divide(model.num_query_groups, "key-value heads");
    divide(model.hidden_size, "hidden columns");
    divide(model.ffn_hidden_size, "columns of the MLP");
    if (model.num_experts > 0) {
        divide(model.expert_ffn_size(), "columns of an expert");
    }
    divide(model.vocab_size, "tokens of the vocabulary");
    if (grid.num_stages > model.num_layers) {
        errors.push_back(
            {"serving.pools.pipeline_model_parallel_size",
             fmt::format("{} stages have {} layers", grid.num_stages, model.num_layers),
             "a layer for each"});
    }
    return errors;
}

ModelPart part_of_rank(const Transformer& model, const RankGrid& grid, std::int64_t rank) {
    const std::int64_t stage = rank / grid.tensor_size;
    const std::int64_t least = model.num_layers / grid.num_stages;
    const std::int64_t larger = model.num_layers % grid.num_stages;
    return {.tensor_rank = rank % grid.tensor_size,
            .tensor_size = grid.tensor_size,
            .first_layer = stage * least + std::min(stage, larger),
            .num_layers = least + (stage < larger ? 1 : 0),
            .embeds = stage == 0,
            .samples = stage == grid.num_stages - 1};
}

InstanceRanks::InstanceRanks(const RankGrid& grid, std::int64_t number, Transport& transport)
    : grid_(grid),
      first_(number * grid.num_ranks()),
      transport_(transport),
      calls_(transport, called_ranks(first_, grid.num_ranks()), kCalls) {
    ORRERY_CHECK(static_cast<std::int64_t>(transport.num_ranks()) >= first_ + grid.num_ranks());
}

Result<void> InstanceRanks::tell(InstanceCall call, std::vector<std::int32_t> words) {
    CallHead head{static_cast<std::int32_t>(call), static_cast<std::int32_t>(words.size())};
    const std::size_t here = std::min(words.size(), kCallWords);
    std::copy_n(words.begin(), here, head.begin() + 2);
    const Result<void> done = calls_.broadcast(view_of_words(head), 0);
    const std::span<std::int32_t> rest = std::span{words}.subspan(here);
    return !done || rest.empty() ? done : calls_.broadcast(view_of_words(rest), 0);
}

Result<InstanceCall> InstanceRanks::hear(std::vector<std::int32_t>& words) {
    CallHead head{};
    Result<void> done = calls_.broadcast(view_of_words(head), 0);
    words.resize(done ? static_cast<std::size_t>(head[1]) : 0);
    const std::size_t here = std::min(words.size(), kCallWords);
    std::copy_n(head.begin() + 2, here, words.begin());
    const std::span<std::int32_t> rest = std::span{words}.subspan(here);
    if (done && !rest.empty()) {
        done = calls_.broadcast(view_of_words(rest), 0);
    }
    return done ? Result<InstanceCall>{static_cast<InstanceCall>(head[0])}
                : unexpected<Error>(done.error());
}

Result<void> InstanceRanks::answer(std::span<float> values) {
    const std::int64_t from = first_ + (grid_.num_stages - 1) * grid_.tensor_size;
    const auto rank = static_cast<std::int64_t>(transport_.rank());
    if (from == 0 || (rank != 0 && rank != from)) {
        return {};
    }
    const Message message{.is_send = rank == from,
                          .peer = static_cast<std::uint32_t>(rank == from ? 0 : from),
                          .tag = message_tag(kAnswers, 0),
                          .bytes = bytes_of(values)};
    return transport_.exchange({&message, 1});
}

RankStep::RankStep(const ServedModel& served,
                   const CacheShape& cache,
                   const RankGrid& grid,
                   Transport& transport,
                   std::int64_t instance)
    : ranks_(grid, instance, transport),
      hidden_(served.model.hidden_size),
      vocabulary_(served.model.vocab_size),
      rank_(transport.rank() - ranks_.first()),
      stage_(transport,
             ranks_from(ranks_.first() + rank_ / grid.tensor_size * grid.tensor_size,
                        grid.tensor_size),
             kStages + static_cast<std::uint32_t>(rank_ / grid.tensor_size)),
      decoder_(served,
               cache,
               part_of_rank(served.model, grid, rank_),
               [this](auto rows, auto mine, auto all) { return gather(rows, mine, all); }) {}

// The columns arrive rank by rank, and are then placed side by side.
Result<void> RankStep::gather(std::int64_t rows,
                              std::span<const float> mine,
                              std::span<float> all) {
    std::vector<float> parts(all.size());
    const Result<void> done =
        stage_.all_gather(const_view_of(mine), view_of(std::span<float>{parts}));
    if (!done) {
        return done;
    }
    const std::int64_t columns = std::ssize(mine) / rows;
    const std::int64_t width = columns * ranks_.grid().tensor_size;
    for (std::int64_t rank = 0; rank < ranks_.grid().tensor_size; ++rank) {
        for (std::int64_t row = 0; row < rows; ++row) {
            std::copy_n(parts.begin() + (rank * rows + row) * columns,
                        columns,
                        all.begin() + row * width + rank * columns);
        }
    }
    return {};
}

Result<void> RankStep::pass(bool is_send, std::int64_t rank, std::span<float> values) {
    const Message message{.is_send = is_send,
                          .peer = static_cast<std::uint32_t>(ranks_.first() + rank),
                          .tag = message_tag(kBetweenStages, 0),
                          .bytes = bytes_of(values)};
    return ranks_.transport().exchange({&message, 1});
}

// The last stage answers every step, even without samples, so that rank 0 knows the step's end and
// duration.
Result<void> RankStep::run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) {
    const StepRows rows = rows_of(chunks);
    const RankGrid& grid = ranks_.grid();
    const std::int64_t stage = rank_ / grid.tensor_size;
    std::vector<float> stream;
    if (stage > 0) {
        stream.resize(static_cast<std::size_t>(rows.tokens * hidden_));
        if (auto done = pass(false, rank_ - grid.tensor_size, stream); !done) {
            return done;
        }
    }
    if (auto done = decoder_.run_stage(chunks, stream, logits); !done) {
        return done;
    }
    if (stage + 1 < grid.num_stages) {
        if (auto done = pass(true, rank_ + grid.tensor_size, stream); !done) {
            return done;
        }
    }
    if (stage + 1 < grid.num_stages || rows.samples == 0) {
        logits.assign(answered_elements(rows, vocabulary_), 0);
    }
    return ranks_.answer(logits);
}

Result<void> RankStep::send_cache(const CacheMove& move) {
    // A flush waits until the other side has received, and frees the copies.
    if (++unflushed_ > kMostCopies) {
        if (auto done = ranks_.transport().flush(); !done) {
            return done;
        }
        unflushed_ = 1;
    }
    std::vector<float> rows = decoder_.read_cache(move.blocks, move.tokens);
    return ranks_.transport().post_send(cache_message(true, move, rows));
}

Result<void> RankStep::receive_cache(const CacheMove& move) {
    std::vector<float> rows(static_cast<std::size_t>(decoder_.cache_elements(move.tokens)));
    const Message message = cache_message(false, move, rows);
    if (auto done = ranks_.transport().exchange({&message, 1}); !done) {
        return done;
    }
    if (!move.blocks.empty()) {
        decoder_.write_cache(move.blocks, move.tokens, rows);
    }
    float sign = 0;
    return ranks_.answer({&sign, 1});
}

// All instances have the same shape: the rank with the same index in the other one has the same
// layers and heads.
Message RankStep::cache_message(bool is_send, const CacheMove& move, std::span<float> rows) const {
    const std::int64_t peer =
        static_cast<std::int64_t>(move.other) * ranks_.grid().num_ranks() + rank_;
    return {.is_send = is_send,
            .peer = static_cast<std::uint32_t>(peer),
            .tag = message_tag(kCaches, 0),
            .bytes = bytes_of(rows)};
}

Result<void> RankStep::obey(InstanceCall call, std::span<const std::int32_t> words) {
    std::vector<float> logits;
    switch (call) {
        case InstanceCall::compute:
            return run(chunks_of_words(words), logits);
        case InstanceCall::send_cache:
            return send_cache(move_of_words(words));
        case InstanceCall::receive_cache:
            return receive_cache(move_of_words(words));
        case InstanceCall::alive:
        case InstanceCall::end:
            break;
    }
    return {};
}

Result<void> RankStep::follow() {
    std::vector<std::int32_t> words;
    while (true) {
        const Result<InstanceCall> call = ranks_.hear(words);
        if (!call) {
            return unexpected<Error>(call.error());
        }
        if (*call == InstanceCall::end) {
            return {};
        }
        if (auto done = obey(*call, words); !done) {
            return done;
        }
    }
}

HeadStep::~HeadStep() {
    if (!failed_) {
        (void)ranks_.tell(InstanceCall::end);
    }
}

Result<void> HeadStep::noted(Result<void> done) {
    failed_ = failed_ || !done;
    return done;
}

Result<void> HeadStep::run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) {
    if (auto told = ranks_.tell(InstanceCall::compute, words_of_chunks(chunks)); !told) {
        return noted(told);
    }
    if (here_ != nullptr) {
        return noted(here_->run(chunks, logits));
    }
    logits.resize(answered_elements(rows_of(chunks), vocabulary_));
    return noted(ranks_.answer(logits));
}

Result<void> HeadStep::send_cache(const CacheMove& move) {
    const Result<void> told = ranks_.tell(InstanceCall::send_cache, words_of_move(move));
    return noted(told && here_ != nullptr ? here_->send_cache(move) : told);
}

Result<void> HeadStep::receive_cache(const CacheMove& move) {
    if (auto told = ranks_.tell(InstanceCall::receive_cache, words_of_move(move)); !told) {
        return noted(told);
    }
    float sign = 0;
    return noted(here_ != nullptr ? here_->receive_cache(move) : ranks_.answer({&sign, 1}));
}

Result<void> HeadStep::keep_alive() {
    return noted(ranks_.tell(InstanceCall::alive));
}

std::vector<std::int32_t> words_of_move(const CacheMove& move) {
    std::vector<std::int32_t> words{static_cast<std::int32_t>(move.other),
                                    static_cast<std::int32_t>(move.tokens)};
    for (const KvBlock block : move.blocks) {
        words.push_back(static_cast<std::int32_t>(block));
    }
    return words;
}

CacheMove move_of_words(std::span<const std::int32_t> words) {
    ORRERY_CHECK(words.size() >= 2);
    CacheMove move{.other = static_cast<std::size_t>(words[0]), .tokens = words[1], .blocks = {}};
    for (const std::int32_t block : words.subspan(2)) {
        move.blocks.push_back(static_cast<KvBlock>(block));
    }
    return move;
}

// For each chunk: tokens, context, blocks, samples, adapter; then the tokens and the blocks.
std::vector<std::int32_t> words_of_chunks(std::span<const DecodeChunk> chunks) {
    std::vector<std::int32_t> words;
    for (const DecodeChunk& chunk : chunks) {
        words.push_back(static_cast<std::int32_t>(chunk.tokens.size()));
        words.push_back(static_cast<std::int32_t>(chunk.context));
        words.push_back(static_cast<std::int32_t>(chunk.blocks.size()));
        words.push_back(chunk.samples ? 1 : 0);
        words.push_back(chunk.adapter);
        words.insert(words.end(), chunk.tokens.begin(), chunk.tokens.end());
        for (const KvBlock block : chunk.blocks) {
            words.push_back(static_cast<std::int32_t>(block));
        }
    }
    return words;
}

std::vector<DecodeChunk> chunks_of_words(std::span<const std::int32_t> words) {
    std::vector<DecodeChunk> chunks;
    std::size_t at = 0;
    const auto take = [&](std::size_t count) {
        ORRERY_CHECK(at + count <= words.size());
        at += count;
        return words.subspan(at - count, count);
    };
    while (at < words.size()) {
        const auto head = take(5);
        const auto tokens = take(static_cast<std::size_t>(head[0]));
        const auto blocks = take(static_cast<std::size_t>(head[2]));
        DecodeChunk chunk{.tokens = {tokens.begin(), tokens.end()},
                          .context = head[1],
                          .blocks = {},
                          .samples = head[3] != 0,
                          .adapter = head[4]};
        for (const std::int32_t block : blocks) {
            chunk.blocks.push_back(static_cast<KvBlock>(block));
        }
        chunks.push_back(std::move(chunk));
    }
    return chunks;
}

}  // namespace orrery
