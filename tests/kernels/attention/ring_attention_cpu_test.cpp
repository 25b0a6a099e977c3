// SPDX-License-Identifier: Apache-2.0
// A ring of context-parallel ranks, each with some positions of the sequence, against one rank
// with all of it.
#include <gtest/gtest.h>

#include "kernels/attention/attention_cpu.h"
#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

std::int64_t packed_width(const AttentionShape& s) {
    return (s.heads + 2 * s.kv_heads) * s.head_dim;
}

// What one rank holds.
struct Rank {
    SequencePositions positions;
    Tensor qkv, dout, out, lse, dqkv;
    Tensor block;  // its keys and values as they travel
};

// Rows (position, batch) of `width` elements of a whole value.
Tensor rows_of(const Tensor& whole,
               const SequencePositions& positions,
               std::int64_t row_size,
               Dtype dtype) {
    Tensor part{positions.length * row_size, dtype};
    for (std::int64_t i = 0; i < part.size(); ++i) {
        const std::int64_t from = positions.of(i / row_size) * row_size + i % row_size;
        store(part.view(), i, load(whole.view(), from));
    }
    return part;
}

struct Sequence {
    AttentionShape shape;  // of the whole
    Dtype dtype;
    Tensor qkv, dout;
};

Rank rank_with(const Sequence& whole, const SequencePositions& positions) {
    const AttentionShape& s = whole.shape;
    const std::int64_t output_row = s.batch * s.heads * s.head_dim;
    const std::int64_t size = positions.length * output_row;
    Rank r{positions,
           rows_of(whole.qkv, positions, s.batch * packed_width(s), whole.dtype),
           rows_of(whole.dout, positions, output_row, whole.dtype),
           Tensor{size, whole.dtype},
           Tensor{size / s.head_dim, Dtype::fp32},
           Tensor{positions.length * s.batch * packed_width(s), whole.dtype},
           Tensor{positions.length * s.batch * 2 * s.kv_heads * s.head_dim, whole.dtype}};
    AttentionShape local = s;
    local.seq_kv = positions.length;
    copy_key_value(local, r.qkv.view(), r.block.view());
    return r;
}

std::vector<Rank> run_ring(const Sequence& whole, const std::vector<SequencePositions>& shards) {
    std::vector<Rank> ranks;
    for (const SequencePositions& positions : shards) {
        ranks.push_back(rank_with(whole, positions));
    }
    AttentionShape s = whole.shape;
    s.seq_q = s.seq_kv = shards[0].length;
    const std::size_t n = ranks.size();
    for (std::size_t step = 0; step < n; ++step) {
        for (std::size_t i = 0; i < n; ++i) {
            Rank& r = ranks[i];
            const Rank& from = ranks[(i + n - step) % n];
            attention_forward(s,
                              {.query = r.positions, .key = from.positions},
                              {.q = packed_query(s, r.qkv.view()),
                               .k = block_key(s, from.block.view()),
                               .v = block_value(s, from.block.view()),
                               .output = r.out.view(),
                               .log_sum_exp = r.lse.view(),
                               .merge = step > 0});
        }
    }
    for (std::size_t step = 0; step < n; ++step) {
        for (std::size_t i = 0; i < n; ++i) {
            Rank& r = ranks[i];
            Rank& from = ranks[(i + n - step) % n];
            Tensor sum{r.block.size(), whole.dtype};
            attention_backward(s,
                               {.query = r.positions, .key = from.positions},
                               {.q = packed_query(s, r.qkv.view()),
                                .k = block_key(s, from.block.view()),
                                .v = block_value(s, from.block.view()),
                                .output = r.out.view(),
                                .log_sum_exp = r.lse.view(),
                                .doutput = r.dout.view(),
                                .dq = packed_query(s, r.dqkv.view()),
                                .dk = block_key(s, sum.view()),
                                .dv = block_value(s, sum.view()),
                                .accumulate_dq = step > 0});
            add_key_value(s, sum.view(), from.dqkv.view());
        }
    }
    return ranks;
}

void compare(const Sequence& whole, const std::vector<SequencePositions>& shards) {
    const AttentionShape& s = whole.shape;
    const Rank one = run_ring(whole, {contiguous_positions(s.seq_q)})[0];
    const double allowed = whole.dtype == Dtype::bf16 ? 1.5e-2 : 1e-5;
    for (const Rank& r : run_ring(whole, shards)) {
        const auto expect = [&](const Tensor& part, const Tensor& all, std::int64_t row_size) {
            const Tensor expected = rows_of(all, r.positions, row_size, Dtype::fp32);
            EXPECT_LT(numeric::relative_error(part, expected.doubles()), allowed);
        };
        expect(r.out, one.out, s.batch * s.heads * s.head_dim);
        expect(r.lse, one.lse, s.batch * s.heads);
        expect(r.dqkv, one.dqkv, s.batch * packed_width(s));
    }
}

class RingAttentionCpu : public testing::TestWithParam<std::int64_t> {};

TEST_P(RingAttentionCpu, EqualsOneRankWithTheWholeSequence) {
    const std::int64_t ranks = GetParam();
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        AttentionShape s{.batch = draw.between(1, 2),
                         .kv_heads = draw.between(1, 2),
                         .head_dim = draw.between(1, 8),
                         .causal = seed % 4 != 0};
        s.heads = s.kv_heads * draw.between(1, 2);
        const std::int64_t local = 2 * draw.between(1, seed % 3 == 0 ? 40 : 6);
        s.seq_q = s.seq_kv = ranks * local;
        s.window = s.causal && draw.coin() ? draw.between(1, s.seq_kv) : 0;
        const Dtype dtype = seed % 3 == 1 ? Dtype::bf16 : Dtype::fp32;
        const std::int64_t tokens = s.seq_q * s.batch;
        const Sequence whole{s,
                             dtype,
                             draw.tensor(tokens * packed_width(s), dtype, -2, 2),
                             draw.tensor(tokens * s.heads * s.head_dim, dtype)};
        std::vector<SequencePositions> balanced;
        std::vector<SequencePositions> contiguous;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            balanced.push_back(balanced_positions(local, rank, ranks));
            contiguous.push_back(contiguous_positions(local, rank * local));
        }
        compare(whole, balanced);
        compare(whole, contiguous);
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingAttentionCpu, testing::Values(1, 2, 4));

}  // namespace
}  // namespace orrery::cpu
