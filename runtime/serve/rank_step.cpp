// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/rank_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace orrery {
namespace {

// Communicators of an instance, and the lanes of its messages (communicator.h: message_tag()).
constexpr std::uint32_t kEverybody = 1;
constexpr std::uint32_t kStages = 2;  // and the numbers behind it, one a stage
constexpr std::uint32_t kBetweenStages = 0x00FF'FFFE;

constexpr std::int32_t kEnd = -1;  // instead of a number of words

std::vector<std::uint32_t> ranks_from(std::int64_t first, std::int64_t count) {
    std::vector<std::uint32_t> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), static_cast<std::uint32_t>(first));
    return ranks;
}

TensorView view_of_words(std::span<std::int32_t> words) {
    return {reinterpret_cast<std::byte*>(words.data()), Dtype::int32, std::ssize(words)};
}

std::span<std::byte> bytes_of(std::span<float> values) {
    return std::as_writable_bytes(values);
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

RankStep::RankStep(const ServedModel& served,
                   const CacheShape& cache,
                   const RankGrid& grid,
                   Transport& transport)
    : grid_(grid),
      hidden_(served.model.hidden_size),
      vocabulary_(served.model.vocab_size),
      transport_(transport),
      rank_(transport.rank()),
      everybody_(transport, ranks_from(0, grid.num_ranks()), kEverybody),
      stage_(transport,
             ranks_from(rank_ / grid.tensor_size * grid.tensor_size, grid.tensor_size),
             kStages + static_cast<std::uint32_t>(rank_ / grid.tensor_size)),
      decoder_(served,
               cache,
               part_of_rank(served.model, grid, rank_),
               [this](auto rows, auto mine, auto all) { return gather(rows, mine, all); }) {
    ORRERY_CHECK(transport.num_ranks() == static_cast<std::uint32_t>(grid.num_ranks()));
}

// Ranks' columns come one rank after the other, and belong side by side.
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
    const std::int64_t width = columns * grid_.tensor_size;
    for (std::int64_t rank = 0; rank < grid_.tensor_size; ++rank) {
        for (std::int64_t row = 0; row < rows; ++row) {
            std::copy_n(parts.begin() + (rank * rows + row) * columns,
                        columns,
                        all.begin() + row * width + rank * columns);
        }
    }
    return {};
}

Result<void> RankStep::send(std::int64_t to, std::span<float> values) {
    const Message message{.is_send = true,
                          .peer = static_cast<std::uint32_t>(to),
                          .tag = message_tag(kBetweenStages, 0),
                          .bytes = bytes_of(values)};
    return transport_.exchange({&message, 1});
}

Result<void> RankStep::receive(std::int64_t from, std::span<float> values) {
    const Message message{.is_send = false,
                          .peer = static_cast<std::uint32_t>(from),
                          .tag = message_tag(kBetweenStages, 0),
                          .bytes = bytes_of(values)};
    return transport_.exchange({&message, 1});
}

Result<void> RankStep::run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) {
    std::int64_t rows = 0;
    std::int64_t samples = 0;
    for (const DecodeChunk& chunk : chunks) {
        rows += std::ssize(chunk.tokens);
        samples += chunk.samples ? 1 : 0;
    }
    const std::int64_t stage = rank_ / grid_.tensor_size;
    std::vector<float> stream;
    if (stage > 0) {
        stream.resize(static_cast<std::size_t>(rows * hidden_));
        if (auto done = receive(rank_ - grid_.tensor_size, stream); !done) {
            return done;
        }
    }
    if (auto done = decoder_.run_stage(chunks, stream, logits); !done) {
        return done;
    }
    if (stage + 1 < grid_.num_stages) {
        if (auto done = send(rank_ + grid_.tensor_size, stream); !done) {
            return done;
        }
    }
    const std::int64_t sampler = (grid_.num_stages - 1) * grid_.tensor_size;
    if (samples == 0 || sampler == 0) {
        return {};
    }
    if (rank_ == 0) {
        logits.resize(static_cast<std::size_t>(samples * vocabulary_));
        return receive(sampler, logits);
    }
    return rank_ == sampler ? send(0, logits) : Result<void>{};
}

Result<void> RankStep::tell_words(std::vector<std::int32_t> words) {
    std::int32_t count = static_cast<std::int32_t>(words.size());
    const Result<void> done = everybody_.broadcast(view_of_words({&count, 1}), 0);
    return !done || words.empty() ? done : everybody_.broadcast(view_of_words(words), 0);
}

Result<void> RankStep::tell(std::span<const DecodeChunk> chunks) {
    return tell_words(chunks.empty() ? std::vector<std::int32_t>{} : words_of_chunks(chunks));
}

Result<void> RankStep::tell_end() {
    std::int32_t end = kEnd;
    return everybody_.broadcast(view_of_words({&end, 1}), 0);
}

Result<void> RankStep::follow() {
    std::vector<float> logits;
    while (true) {
        std::int32_t count = 0;
        if (auto done = everybody_.broadcast(view_of_words({&count, 1}), 0); !done) {
            return done;
        }
        if (count == kEnd) {
            return {};
        }
        if (count == 0) {
            continue;
        }
        std::vector<std::int32_t> words(static_cast<std::size_t>(count));
        if (auto done = everybody_.broadcast(view_of_words(words), 0); !done) {
            return done;
        }
        if (auto done = run(chunks_of_words(words), logits); !done) {
            return done;
        }
    }
}

HeadStep::~HeadStep() {
    if (!failed_) {
        (void)rank_.tell_end();
    }
}

Result<void> HeadStep::run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) {
    Result<void> done = rank_.tell(chunks);
    done = done ? rank_.run(chunks, logits) : done;
    failed_ = failed_ || !done;
    return done;
}

Result<void> HeadStep::keep_alive() {
    Result<void> done = rank_.tell({});
    failed_ = failed_ || !done;
    return done;
}

// Of each chunk: tokens, context, blocks, samples; then the tokens and the blocks.
std::vector<std::int32_t> words_of_chunks(std::span<const DecodeChunk> chunks) {
    std::vector<std::int32_t> words;
    for (const DecodeChunk& chunk : chunks) {
        words.push_back(static_cast<std::int32_t>(chunk.tokens.size()));
        words.push_back(static_cast<std::int32_t>(chunk.context));
        words.push_back(static_cast<std::int32_t>(chunk.blocks.size()));
        words.push_back(chunk.samples ? 1 : 0);
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
        const auto head = take(4);
        const auto tokens = take(static_cast<std::size_t>(head[0]));
        const auto blocks = take(static_cast<std::size_t>(head[2]));
        DecodeChunk chunk{.tokens = {tokens.begin(), tokens.end()},
                          .context = head[1],
                          .blocks = {},
                          .samples = head[3] != 0};
        for (const std::int32_t block : blocks) {
            chunk.blocks.push_back(static_cast<KvBlock>(block));
        }
        chunks.push_back(std::move(chunk));
    }
    return chunks;
}

}  // namespace orrery
