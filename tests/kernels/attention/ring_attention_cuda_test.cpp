// SPDX-License-Identifier: Apache-2.0
// Steps of a context-parallel ring and dropout by the device code, against the CPU kernels on the
// same operands.
#include "kernels/attention/attention_device.h"
#include "kernels/attention/key_value_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

// One rank's side of a ring: its queries, everybody's keys and values, what the steps leave.
struct Ring {
    AttentionShape shape;  // of a step
    Dtype dtype;
    std::vector<SequencePositions> ranks;
    cpu::AttentionDropout dropout;
    Tensor q, dout;
    std::vector<Tensor> blocks;

    Ring(Draw& draw, const AttentionShape& s, Dtype type, std::int64_t size, float rate)
        : shape(s),
          dtype(type),
          q(draw.tensor(query_size(), type, -2, 2)),
          dout(draw.tensor(query_size(), type)) {
        for (std::int64_t r = 0; r < size; ++r) {
            ranks.push_back(balanced_positions(s.seq_q, r, size));
            blocks.push_back(
                draw.tensor(2 * s.seq_kv * s.batch * s.kv_heads * s.head_dim, type, -2, 2));
        }
        if (rate > 0) {
            dropout = {.key = {.seed = 77, .purpose = RandomPurpose::attention_dropout, .round = 4},
                       .rate = rate,
                       .first_head = 3,
                       .all_heads = s.heads + 5,
                       .sequence = s.seq_q * size};
        }
    }
    std::int64_t query_size() const {
        return shape.seq_q * shape.batch * shape.heads * shape.head_dim;
    }
};

struct Results {
    Tensor out, lse, dq;
    std::vector<Tensor> dblocks;
    bool operator==(const Results&) const = default;
};

// The steps of rank `rank`, each by forward() and backward().
template <class Forward, class Backward>
Results run_ring(const Ring& ring,
                 std::size_t rank,
                 const Forward& forward,
                 const Backward& backward) {
    const AttentionShape& s = ring.shape;
    // What the first step finds must not count.
    Draw draw{99};
    Results r{draw.tensor(ring.query_size(), ring.dtype),
              draw.tensor(s.seq_q * s.batch * s.heads, Dtype::fp32),
              draw.tensor(ring.query_size(), ring.dtype),
              {}};
    const std::size_t n = ring.ranks.size();
    const auto positions = [&](std::size_t owner) {
        return cpu::AttentionPositions{ring.ranks[rank], ring.ranks[owner]};
    };
    for (std::size_t step = 0; step < n; ++step) {
        const std::size_t owner = (rank + n - step) % n;
        forward(s,
                positions(owner),
                cpu::AttentionForward{.q = query_rows(s, ring.q.view()),
                                      .k = cpu::block_key(s, ring.blocks[owner].view()),
                                      .v = cpu::block_value(s, ring.blocks[owner].view()),
                                      .output = r.out.view(),
                                      .log_sum_exp = r.lse.view(),
                                      .merge = step > 0,
                                      .dropout = ring.dropout});
    }
    for (std::size_t owner = 0; owner < n; ++owner) {
        r.dblocks.emplace_back(ring.blocks[owner].size(), ring.dtype);
        backward(s,
                 positions(owner),
                 cpu::AttentionBackward{.q = query_rows(s, ring.q.view()),
                                        .k = cpu::block_key(s, ring.blocks[owner].view()),
                                        .v = cpu::block_value(s, ring.blocks[owner].view()),
                                        .output = r.out.view(),
                                        .log_sum_exp = r.lse.view(),
                                        .doutput = ring.dout.view(),
                                        .dq = query_rows(s, r.dq.view()),
                                        .dk = cpu::block_key(s, r.dblocks[owner].view()),
                                        .dv = cpu::block_value(s, r.dblocks[owner].view()),
                                        .accumulate_dq = owner > 0,
                                        .dropout = ring.dropout});
    }
    return r;
}

Results on_cpu(const Ring& ring, std::size_t rank) {
    return run_ring(ring, rank, cpu::attention_forward, cpu::attention_backward);
}

// `scalars`: seed, round and rate come from device scalars.
Results emulated(Ring ring, std::size_t rank, ThreadOrder order, bool scalars = false) {
    std::vector<float> block(static_cast<std::size_t>(kNumDeviceScalars), 0.0f);
    const auto set = [&](DeviceScalar scalar, float value) {
        block[static_cast<std::size_t>(scalar)] = value;
    };
    set(DeviceScalar::dropout, ring.dropout.rate);
    set(DeviceScalar::seed_low, float_of_bits(static_cast<std::uint32_t>(ring.dropout.key.seed)));
    set(DeviceScalar::first_round, float_of_bits(3));
    const float* from = scalars ? block.data() : nullptr;
    if (scalars) {
        ring.dropout.key.seed = 0;
        ring.dropout.key.round -= 3;
        ring.dropout.rate = 0;
    }
    EmulatedQueue queue{order};
    return run_ring(
        ring,
        rank,
        [&](const auto&... call) { attention_forward(queue, call..., from); },
        [&](const auto&... call) { attention_backward(queue, call..., from); });
}

void expect_near(const Results& actual, const Results& expected, Dtype dtype) {
    const double rounding = dtype == Dtype::bf16 ? 6e-3 : 1e-5;
    EXPECT_LT(numeric::relative_error(actual.out, expected.out.doubles()), rounding);
    EXPECT_LT(numeric::relative_error(actual.lse, expected.lse.doubles()), 1e-5);
    EXPECT_LT(numeric::relative_error(actual.dq, expected.dq.doubles()), 2 * rounding);
    for (std::size_t i = 0; i < expected.dblocks.size(); ++i) {
        EXPECT_LT(numeric::relative_error(actual.dblocks[i], expected.dblocks[i].doubles()),
                  2 * rounding)
            << "block " << i;
    }
}

class RingOnTensorCores : public testing::TestWithParam<AttentionShape> {};

TEST_P(RingOnTensorCores, IsTheCpusInEveryThreadOrder) {
    for (const float rate : {0.0f, 0.3f}) {
        Draw draw{11};
        const Ring ring{draw, GetParam(), Dtype::bf16, 2, rate};
        const std::size_t rank = rate > 0 ? 0 : 1;
        const Results results = emulated(ring, rank, ThreadOrder::ascending);
        expect_near(results, on_cpu(ring, rank), Dtype::bf16);
        EXPECT_TRUE(results == emulated(ring, rank, ThreadOrder::descending));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes,
    RingOnTensorCores,
    testing::Values(
        // One tile and several, ragged; sequences and grouped heads; a window.
        AttentionShape{.seq_q = 64, .seq_kv = 64, .heads = 1, .kv_heads = 1, .head_dim = 128},
        AttentionShape{
            .batch = 2, .seq_q = 38, .seq_kv = 38, .heads = 2, .kv_heads = 1, .head_dim = 64},
        AttentionShape{
            .seq_q = 130, .seq_kv = 130, .heads = 2, .kv_heads = 1, .head_dim = 64, .window = 90}));

TEST(RingByRows, IsTheCpus) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            AttentionShape s{.batch = draw.between(1, 2),
                             .seq_q = 2 * draw.between(2, 5),
                             .kv_heads = draw.between(1, 2),
                             .head_dim = draw.between(8, 70)};
            s.seq_kv = s.seq_q;
            s.heads = s.kv_heads * draw.between(1, 3);
            const Ring ring{draw, s, dtype, draw.between(2, 4), draw.coin() ? 0.2f : 0.0f};
            const auto rank = static_cast<std::size_t>(draw.between(1, 1));
            expect_near(emulated(ring, rank, ThreadOrder::descending), on_cpu(ring, rank), dtype);
        }
    }
}

// A captured kernel is replayed with the scalars of later steps.
TEST(RingAttentionCuda, ReadsSeedRoundAndRateOnTheDevice) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        Draw draw{3};
        const AttentionShape s{
            .seq_q = 10, .seq_kv = 10, .heads = 2, .kv_heads = 1, .head_dim = 64};
        const Ring ring{draw, s, dtype, 2, 0.25f};
        EXPECT_TRUE(emulated(ring, 1, ThreadOrder::ascending) ==
                    emulated(ring, 1, ThreadOrder::ascending, true));
        Ring other = ring;
        other.dropout.key.round += 1;
        EXPECT_FALSE(emulated(ring, 1, ThreadOrder::ascending).out ==
                     emulated(other, 1, ThreadOrder::ascending).out);
    }
}

TEST(KeyValueCuda, CopiesAddsAndClearsTheColumnsOfTheCpus) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        for (const std::int64_t head_dim : {5, 64}) {
            Draw draw{8};
            const AttentionShape s{.batch = 2,
                                   .seq_q = 70,
                                   .seq_kv = 70,
                                   .heads = 3,
                                   .kv_heads = 1,
                                   .head_dim = head_dim};
            const std::int64_t width = 2 * head_dim;
            Tensor packed = draw.tensor(140 * 5 * head_dim, dtype);
            Tensor expected = packed;
            Tensor block{140 * width, dtype};
            Tensor expected_block = block;
            EmulatedQueue queue;
            copy_key_value(queue, width, packed.view(), block.view());
            cpu::copy_key_value(s, expected.view(), expected_block.view());
            EXPECT_TRUE(block == expected_block);
            add_key_value(queue, width, block.view(), packed.view());
            cpu::add_key_value(s, expected_block.view(), expected.view());
            EXPECT_TRUE(packed == expected);
            clear_key_value(queue, 140, width, packed.view());
            cpu::copy_key_value(s, packed.view(), block.view());
            EXPECT_EQ(block.doubles(), Doubles(block.doubles().size(), 0.0));
            EXPECT_EQ(packed.at(0), expected.at(0));
        }
    }
}

TEST(KeyValueCuda, JoinsQueriesAndABlockAsTheCpuDoes) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        for (const std::int64_t columns : {5, 64}) {
            Draw draw{9};
            constexpr std::int64_t kTokens = 70;
            const Tensor narrow = draw.tensor(kTokens * 4 * columns, dtype);
            const Tensor block = draw.tensor(kTokens * 2 * columns, dtype);
            Tensor packed{kTokens * 5 * columns, dtype};
            Tensor expected = packed;
            EmulatedQueue queue;
            join_key_value(queue, kTokens, narrow.view(), block.view(), packed.view());
            cpu::join_key_value(kTokens, narrow.view(), block.view(), expected.view());
            EXPECT_TRUE(packed == expected);
        }
    }
}

}  // namespace
}  // namespace orrery::device
