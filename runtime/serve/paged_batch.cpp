// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/paged_batch.h"

#include <algorithm>
#include <numeric>

#include "engine/base/check.h"

namespace orrery {
namespace {

std::int32_t block_number(const DecodeChunk& chunk, std::int64_t token, std::int64_t block_size) {
    const auto block = static_cast<std::size_t>(token / block_size);
    ORRERY_CHECK(block < chunk.blocks.size());
    return static_cast<std::int32_t>(chunk.blocks[block]) - 1;
}

}  // namespace

PagedBatch paged_batch(std::span<const DecodeChunk> chunks,
                       std::int64_t block_size,
                       std::int64_t table_width) {
    std::vector<std::size_t> order(chunks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_partition(
        order.begin(), order.end(), [&](std::size_t i) { return chunks[i].tokens.size() == 1; });
    PagedBatch batch;
    std::vector<std::int64_t> last_rows(chunks.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
        const DecodeChunk& chunk = chunks[order[place]];
        const auto count = static_cast<std::int64_t>(chunk.tokens.size());
        ORRERY_CHECK(count > 0 && std::ssize(chunk.blocks) <= table_width);
        if (count == 1) {
            ++batch.single_rows;
            batch.contexts.push_back(static_cast<std::int32_t>(chunk.context + 1));
        } else {
            batch.prompts.push_back({.first_row = batch.rows,
                                     .tokens = count,
                                     .context = chunk.context,
                                     .table = static_cast<std::int64_t>(place)});
        }
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t position = chunk.context + i;
            batch.tokens.push_back(chunk.tokens[static_cast<std::size_t>(i)]);
            batch.positions.push_back(static_cast<std::int32_t>(position));
            batch.adapters.push_back(chunk.adapter);
            batch.slots.push_back(static_cast<std::int32_t>(
                block_number(chunk, position, block_size) * block_size + position % block_size));
        }
        batch.rows += count;
        last_rows[order[place]] = batch.rows - 1;
        for (const KvBlock block : chunk.blocks) {
            batch.tables.push_back(static_cast<std::int32_t>(block) - 1);
        }
        batch.tables.resize((place + 1) * static_cast<std::size_t>(table_width));
    }
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        if (chunks[i].samples) {
            batch.samples.push_back(static_cast<std::int32_t>(last_rows[i]));
        }
    }
    return batch;
}

void pad_rows(PagedBatch& batch, std::int64_t rows, std::int64_t table_width) {
    ORRERY_CHECK(rows >= batch.rows);
    const auto all = static_cast<std::size_t>(rows);
    batch.tokens.resize(all);
    batch.positions.resize(all);
    batch.slots.resize(all, -1);
    batch.adapters.resize(all, -1);
    if (batch.prompts.empty()) {
        batch.contexts.resize(all);
        batch.tables.resize(all * static_cast<std::size_t>(table_width));
        batch.single_rows = rows;
    }
    batch.rows = rows;
}

}  // namespace orrery
