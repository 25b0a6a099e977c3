// SPDX-License-Identifier: Apache-2.0
#include "kernels/paged_attention/paged_attention_cuda.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/paged_attention/paged_attention_device.h"
#include "kernels/rope/rope_cpu.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;
using Numbers = std::vector<std::int32_t>;

std::size_t at(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

// Sequences in blocks of a cache that are drawn, each block once.
struct Batch {
    PagedShape shape;
    Numbers contexts;
    Numbers tables;
    Tensor qkv;
    Tensor cache;

    static Batch draw(Draw& draw, PagedShape shape, Numbers contexts, Dtype dtype) {
        const std::int64_t longest = *std::max_element(contexts.begin(), contexts.end());
        shape.rows = std::ssize(contexts);
        shape.table_width =
            std::max<std::int64_t>((longest + shape.block_size - 1) / shape.block_size, 1);
        const std::int64_t blocks = shape.rows * shape.table_width;
        Numbers tables(at(blocks));
        std::iota(tables.begin(), tables.end(), 0);
        for (std::int64_t i = blocks - 1; i > 0; --i) {
            std::swap(tables[at(i)], tables[at(draw.between(0, i))]);
        }
        return {.shape = shape,
                .contexts = std::move(contexts),
                .tables = std::move(tables),
                .qkv = draw.tensor(shape.rows * shape.packed_width(), dtype),
                .cache = draw.tensor(blocks * shape.block_size * shape.cache_width(), dtype)};
    }

    std::int64_t place(std::int64_t row, std::int64_t token) const {
        const std::int64_t block = tables[at(row * shape.table_width + token / shape.block_size)];
        return (block * shape.block_size + token % shape.block_size) * shape.cache_width();
    }

    Tensor run(ThreadOrder order = ThreadOrder::ascending) const {
        Tensor output{shape.rows * shape.heads * shape.head_dim, qkv.view().dtype};
        EmulatedQueue queue{order};
        paged_attention(queue,
                        shape,
                        {.qkv = qkv.view(),
                         .cache = cache.view(),
                         .contexts = view_of(std::span<const std::int32_t>{contexts}),
                         .tables = view_of(std::span<const std::int32_t>{tables}),
                         .output = output.view()});
        return output;
    }

    Doubles expected() const {
        Doubles all;
        for (std::int64_t row = 0; row < shape.rows; ++row) {
            for (std::int64_t head = 0; head < shape.heads; ++head) {
                const Doubles one = expected(row, head);
                all.insert(all.end(), one.begin(), one.end());
            }
        }
        return all;
    }
    Doubles expected(std::int64_t row, std::int64_t head) const {
        const std::int64_t dim = shape.head_dim;
        const std::int64_t kv_head = head / (shape.heads / shape.kv_heads);
        const std::int64_t context = contexts[at(row)];
        const std::int64_t first =
            shape.window > 0 ? std::max<std::int64_t>(context - shape.window, 0) : 0;
        Doubles sums(at(dim));
        double total = 0;
        for (std::int64_t token = first; token < context; ++token) {
            const std::int64_t key = place(row, token) + kv_head * dim;
            double score = 0;
            for (std::int64_t i = 0; i < dim; ++i) {
                score += qkv.at(row * shape.packed_width() + head * dim + i) * cache.at(key + i);
            }
            const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
            total += weight;
            for (std::int64_t i = 0; i < dim; ++i) {
                sums[at(i)] += weight * cache.at(key + shape.kv_heads * dim + i);
            }
        }
        for (double& sum : sums) {
            sum = total > 0 ? sum / total : 0;
        }
        return sums;
    }
};

TEST(PagedAttentionCuda, IsTheSoftmaxOverEachRowsOwnContext) {
    constexpr std::int64_t kGroups[] = {1, 2, 3, 4, 8};
    constexpr std::int64_t kSizes[] = {16, 34, 64, 128, 256};
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        const bool is_long = seed == 7;  // two partitions and more
        const std::int64_t kv_heads = is_long ? 1 : draw.between(1, 2);
        const PagedShape shape{.heads = kv_heads * kGroups[is_long ? 3 : draw.between(0, 4)],
                               .kv_heads = kv_heads,
                               .head_dim = kSizes[seed % 5],
                               .block_size = draw.between(1, 20),
                               .window = draw.coin() ? draw.between(1, 60) : 0};
        Numbers contexts = draw.ids(draw.between(1, 3), 0, 60);
        contexts.push_back(static_cast<std::int32_t>(is_long ? 1100 : draw.between(1, 60)));
        const Dtype dtype = draw.coin() ? Dtype::fp32 : Dtype::bf16;
        const Batch batch = Batch::draw(draw, shape, contexts, dtype);
        const Tensor result = batch.run();
        EXPECT_LT(numeric::relative_error(result, batch.expected()), numeric::tolerance(dtype));
        EXPECT_EQ(batch.run(ThreadOrder::descending), result);
    }
}

TEST(PagedAttentionCuda, BitsOfARowDoNotDependOnTheOthers) {
    Draw draw{5};
    const PagedShape shape{.heads = 4, .kv_heads = 1, .head_dim = 64, .block_size = 16};
    const Batch batch = Batch::draw(draw, shape, {700, 40, 0, 512}, Dtype::bf16);
    const Tensor all = batch.run();
    const std::int64_t width = shape.heads * shape.head_dim;
    for (std::int64_t row = 0; row < batch.shape.rows; ++row) {
        SCOPED_TRACE(row);
        // Alone, with a table of its own length: other partitions, or none to join.
        Batch one = batch;
        one.shape.rows = 1;
        one.shape.table_width = std::max<std::int64_t>(
            (batch.contexts[at(row)] + shape.block_size - 1) / shape.block_size, 1);
        one.contexts = {batch.contexts[at(row)]};
        const auto begin = batch.tables.begin() + row * batch.shape.table_width;
        one.tables.assign(begin, begin + one.shape.table_width);
        one.qkv = Tensor{shape.packed_width(), Dtype::bf16};
        for (std::int64_t i = 0; i < shape.packed_width(); ++i) {
            store(one.qkv.view(), i, load(batch.qkv.view(), row * shape.packed_width() + i));
        }
        const Tensor alone = one.run();
        for (std::int64_t i = 0; i < width; ++i) {
            ASSERT_EQ(alone.at(i), all.at(row * width + i));
        }
    }
}

TEST(PagedAttentionCuda, GathersTheTokensOfASequenceInOrder) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        const PagedShape shape{.heads = 1,
                               .kv_heads = draw.between(1, 3),
                               .head_dim = draw.coin() ? 64 : 2 * draw.between(1, 20),
                               .block_size = draw.between(1, 9)};
        const auto context = static_cast<std::int32_t>(draw.between(1, 50));
        const Batch batch = Batch::draw(draw, shape, {3, context}, Dtype::bf16);
        const std::int64_t width = shape.cache_width();
        const std::span<const std::int32_t> tables{batch.tables};
        const auto table = tables.subspan(at(batch.shape.table_width));
        Tensor rows{context * width, Dtype::bf16};
        EmulatedQueue queue;
        gather_context(queue,
                       batch.shape,
                       {.cache = batch.cache.view(), .table = view_of(table), .rows = rows.view()});
        for (std::int64_t i = 0; i < rows.size(); ++i) {
            ASSERT_EQ(rows.at(i), batch.cache.at(batch.place(1, i / width) + i % width));
        }
    }
}

TEST(PagedAttentionCuda, StoresTurnedKeysAndValuesInTheirSlots) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        const bool turns = draw.coin();
        const Dtype dtype = draw.coin() ? Dtype::fp32 : Dtype::bf16;
        PagedShape shape{.rows = draw.between(1, 5),
                         .heads = draw.between(1, 9),
                         .kv_heads = draw.between(1, 3),
                         .head_dim = 2 * draw.between(1, 40),
                         .block_size = 4};
        constexpr std::int64_t kSlots = 16;
        const Tensor before = draw.tensor(shape.rows * shape.packed_width(), dtype);
        const Numbers positions = draw.ids(shape.rows, 0, 100'000);
        Numbers slots;
        for (std::int64_t row = 0; row < shape.rows; ++row) {
            slots.push_back(static_cast<std::int32_t>(row == 1 ? -1 : 3 * row));
        }
        Tensor qkv = before;
        Tensor cache{kSlots * shape.cache_width(), dtype};
        EmulatedQueue queue;
        rotate_and_store(queue,
                         shape,
                         {.qkv = qkv.view(),
                          .positions = view_of(std::span<const std::int32_t>{positions}),
                          .slots = view_of(std::span<const std::int32_t>{slots}),
                          .cache = cache.view(),
                          .rope_base = turns ? std::optional{10'000.0} : std::nullopt});
        Tensor turned = before;
        for (std::int64_t row = 0; turns && row < shape.rows; ++row) {
            cpu::rope_forward(
                {.sequence = contiguous_positions(1, positions[at(row)]),
                 .batch = 1,
                 .heads = shape.heads,
                 .kv_heads = shape.kv_heads,
                 .head_dim = shape.head_dim},
                slice(turned.view(), row * shape.packed_width(), shape.packed_width()));
        }
        EXPECT_LT(numeric::relative_error(qkv, turned.doubles()), numeric::tolerance(dtype));
        Tensor stored{cache.size(), dtype};
        for (std::int64_t row = 0; row < shape.rows; ++row) {
            for (std::int64_t i = 0; slots[at(row)] >= 0 && i < shape.cache_width(); ++i) {
                store(stored.view(),
                      slots[at(row)] * shape.cache_width() + i,
                      load(qkv.view(),
                           row * shape.packed_width() + shape.heads * shape.head_dim + i));
            }
        }
        EXPECT_EQ(cache, stored);
    }
}

}  // namespace
}  // namespace orrery::device
