// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding_cpu.h"

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

constexpr std::int64_t kTokens = 40;
constexpr std::int64_t kHidden = 7;
constexpr std::int64_t kVocab = 12;

TEST(EmbeddingCpu, LooksUpRows) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        Draw draw{1};
        const std::vector<std::int32_t> tokens = draw.ids(kTokens, 0, kVocab - 1);
        const Tensor table = draw.tensor(kVocab * kHidden, dtype);
        Tensor out{kTokens * kHidden, dtype};
        embedding_forward({.tokens = kTokens, .hidden = kHidden, .rows = kVocab},
                          view_of(tokens),
                          table.view(),
                          out.view());
        for (std::int64_t i = 0; i < out.size(); ++i) {
            const std::int64_t row = tokens[static_cast<std::size_t>(i / kHidden)];
            ASSERT_EQ(out.at(i), table.at(row * kHidden + i % kHidden));
        }
    }
}

TEST(EmbeddingCpu, ShardsOfTheVocabularyAddUpToTheWhole) {
    Draw draw{2};
    const std::vector<std::int32_t> tokens = draw.ids(kTokens, 0, kVocab - 1);
    const Tensor table = draw.tensor(kVocab * kHidden, Dtype::fp32);
    const Tensor dout = draw.tensor(kTokens * kHidden, Dtype::fp32);
    const EmbeddingShape whole{.tokens = kTokens, .hidden = kHidden, .rows = kVocab};
    Tensor out{dout.size(), Dtype::fp32};
    Tensor dtable{table.size(), Dtype::fp32};
    embedding_forward(whole, view_of(tokens), table.view(), out.view());
    embedding_backward(whole, view_of(tokens), dout.view(), dtable.view());
    Doubles sum(static_cast<std::size_t>(out.size()), 0.0);
    Tensor dparts{table.size(), Dtype::fp32};
    for (std::int64_t rank = 0; rank < 4; ++rank) {
        const EmbeddingShape shard{
            .tokens = kTokens, .hidden = kHidden, .rows = 3, .first_row = 3 * rank};
        Tensor part = draw.tensor(out.size(), Dtype::fp32);
        embedding_forward(shard,
                          view_of(tokens),
                          slice(table.view(), 3 * rank * kHidden, 3 * kHidden),
                          part.view());
        for (std::int64_t i = 0; i < part.size(); ++i) {
            sum[static_cast<std::size_t>(i)] += part.at(i);
        }
        embedding_backward(shard,
                           view_of(tokens),
                           dout.view(),
                           slice(dparts.view(), 3 * rank * kHidden, 3 * kHidden));
    }
    EXPECT_EQ(sum, out.doubles());
    EXPECT_EQ(dparts, dtable);
}

TEST(EmbeddingCpu, BackwardAddsEveryTokensGradientOnce) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const std::vector<std::int32_t> tokens = draw.ids(kTokens, -1, kVocab + 1);
            const Tensor dout = draw.tensor(kTokens * kHidden, dtype);
            Tensor dtable = draw.tensor(kVocab * kHidden, dtype);
            Doubles expected = dtable.doubles();
            for (std::int64_t i = 0; i < dout.size(); ++i) {
                const std::int64_t row = tokens[static_cast<std::size_t>(i / kHidden)];
                if (row >= 0 && row < kVocab) {
                    expected[static_cast<std::size_t>(row * kHidden + i % kHidden)] += dout.at(i);
                }
            }
            embedding_backward({.tokens = kTokens, .hidden = kHidden, .rows = kVocab},
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
    const PositionShape shape{.sequence = sequence, .batch = kBatch, .hidden = kHidden};
    const Tensor table = draw.tensor(8 * kHidden, Dtype::fp32);
    Tensor x = draw.tensor(4 * kBatch * kHidden, Dtype::fp32);
    const Tensor before = x;
    Tensor dtable = draw.tensor(table.size(), Dtype::fp32);
    Doubles expected = dtable.doubles();
    position_forward(shape, table.view(), x.view());
    position_backward(shape, before.view(), dtable.view());
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t position = sequence.of(i / kHidden / kBatch);
        const std::int64_t at = position * kHidden + i % kHidden;
        EXPECT_EQ(load(x.view(), i), load(before.view(), i) + load(table.view(), at));
        expected[static_cast<std::size_t>(at)] += before.at(i);
    }
    EXPECT_LT(numeric::relative_error(dtable, expected), 1e-6);
}

}  // namespace
}  // namespace orrery::cpu
