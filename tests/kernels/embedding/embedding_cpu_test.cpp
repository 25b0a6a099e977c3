// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding_cpu.h"

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

constexpr std::int64_t kLookedUp = 40;
constexpr std::int64_t kTableWidth = 7;
constexpr std::int64_t kTableRows = 12;

TEST(EmbeddingCpu, LooksUpRows) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        Draw draw{1};
        const std::vector<std::int32_t> tokens = draw.ids(kLookedUp, 0, kTableRows - 1);
        const Tensor table = draw.tensor(kTableRows * kTableWidth, dtype);
        Tensor out{kLookedUp * kTableWidth, dtype};
        embedding_forward({.tokens = kLookedUp, .hidden = kTableWidth, .rows = kTableRows},
                          view_of(tokens),
                          table.view(),
                          out.view());
        for (std::int64_t i = 0; i < out.size(); ++i) {
            const std::int64_t row = tokens[static_cast<std::size_t>(i / kTableWidth)];
            ASSERT_EQ(out.at(i), table.at(row * kTableWidth + i % kTableWidth));
        }
    }
}

TEST(EmbeddingCpu, ShardsOfTheVocabularyAddUpToTheWhole) {
    Draw draw{2};
    const std::vector<std::int32_t> tokens = draw.ids(kLookedUp, 0, kTableRows - 1);
    const Tensor table = draw.tensor(kTableRows * kTableWidth, Dtype::fp32);
    const Tensor dout = draw.tensor(kLookedUp * kTableWidth, Dtype::fp32);
    const EmbeddingShape whole{.tokens = kLookedUp, .hidden = kTableWidth, .rows = kTableRows};
    Tensor out{dout.size(), Dtype::fp32};
    Tensor dtable{table.size(), Dtype::fp32};
    embedding_forward(whole, view_of(tokens), table.view(), out.view());
    embedding_backward(whole, view_of(tokens), dout.view(), dtable.view());
    Doubles sum(static_cast<std::size_t>(out.size()), 0.0);
    Tensor dparts{table.size(), Dtype::fp32};
    for (std::int64_t rank = 0; rank < 4; ++rank) {
        const EmbeddingShape shard{
            .tokens = kLookedUp, .hidden = kTableWidth, .rows = 3, .first_row = 3 * rank};
        Tensor part = draw.tensor(out.size(), Dtype::fp32);
        embedding_forward(shard,
                          view_of(tokens),
                          slice(table.view(), 3 * rank * kTableWidth, 3 * kTableWidth),
                          part.view());
        for (std::int64_t i = 0; i < part.size(); ++i) {
            sum[static_cast<std::size_t>(i)] += part.at(i);
        }
        embedding_backward(shard,
                           view_of(tokens),
                           dout.view(),
                           slice(dparts.view(), 3 * rank * kTableWidth, 3 * kTableWidth));
    }
    EXPECT_EQ(sum, out.doubles());
    EXPECT_EQ(dparts, dtable);
}

TEST(EmbeddingCpu, BackwardAddsEveryTokensGradientOnce) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const std::vector<std::int32_t> tokens = draw.ids(kLookedUp, -1, kTableRows + 1);
            const Tensor dout = draw.tensor(kLookedUp * kTableWidth, dtype);
            Tensor dtable = draw.tensor(kTableRows * kTableWidth, dtype);
            Doubles expected = dtable.doubles();
            for (std::int64_t i = 0; i < dout.size(); ++i) {
                const std::int64_t row = tokens[static_cast<std::size_t>(i / kTableWidth)];
                if (row >= 0 && row < kTableRows) {
                    expected[static_cast<std::size_t>(row * kTableWidth + i % kTableWidth)] +=
                        dout.at(i);
                }
            }
            embedding_backward({.tokens = kLookedUp, .hidden = kTableWidth, .rows = kTableRows},
                               view_of(tokens),
                               dout.view(),
                               dtable.view());
            EXPECT_LT(numeric::relative_error(dtable, expected),
                      dtype == Dtype::bf16 ? 4e-3 : 1e-6);
        }
    }
}

TEST(PositionsCpu, AreAddedByGlobalPositionAndTheirGradientSummedOverTheBatch) {
    constexpr std::int64_t kBatch = 3;
    Draw draw{3};
    const SequencePositions sequence = balanced_positions(4, 1, 2);
    const PositionShape shape{.sequence = sequence, .batch = kBatch, .hidden = kTableWidth};
    const Tensor table = draw.tensor(8 * kTableWidth, Dtype::fp32);
    Tensor x = draw.tensor(4 * kBatch * kTableWidth, Dtype::fp32);
    const Tensor before = x;
    Tensor dtable = draw.tensor(table.size(), Dtype::fp32);
    Doubles expected = dtable.doubles();
    position_forward(shape, table.view(), x.view());
    position_backward(shape, before.view(), dtable.view());
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t position = sequence.of(i / kTableWidth / kBatch);
        const std::int64_t at = position * kTableWidth + i % kTableWidth;
        EXPECT_EQ(load(x.view(), i), load(before.view(), i) + load(table.view(), at));
        expected[static_cast<std::size_t>(at)] += before.at(i);
    }
    EXPECT_LT(numeric::relative_error(dtable, expected), 1e-6);
}

}  // namespace
}  // namespace orrery::cpu
