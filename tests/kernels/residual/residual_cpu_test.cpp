// SPDX-License-Identifier: Apache-2.0
#include "kernels/residual/residual_cpu.h"

#include <cmath>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Draw;
using numeric::Tensor;

const RandomKey kKey{.seed = 77, .purpose = RandomPurpose::mlp_dropout, .stream = 3, .round = 12};

ValueShard whole_value(std::int64_t sequence, std::int64_t batch, std::int64_t width) {
    return {.sequence = contiguous_positions(sequence), .batch = batch, .width = width};
}

TEST(ResidualAddCpu, AddsAlsoInPlaceAndAcrossItsChunks) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        for (const std::int64_t size : {1, 4096, 9001}) {
            Draw draw{2};
            const Tensor a = draw.tensor(size, dtype);
            Tensor b = draw.tensor(size, dtype);
            Tensor sum{size, dtype};
            residual_add(a.view(), b.view(), sum.view());
            Tensor expected{1, dtype};
            for (std::int64_t i = 0; i < size; ++i) {
                store(expected.view(), 0, load(a.view(), i) + load(b.view(), i));
                ASSERT_EQ(sum.at(i), expected.at(0));
            }
            residual_add(a.view(), b.view(), b.view());
            EXPECT_EQ(b, sum);
        }
    }
}

TEST(DropoutCpu, KeepsTheShareThatItSaysAndScalesIt) {
    constexpr std::int64_t kSize = 40000;
    const std::vector<float> ones(kSize, 1.0f);
    for (const float rate : {0.0f, 0.1f, 0.5f}) {
        Tensor y{kSize, Dtype::fp32};
        Tensor mask{kSize, Dtype::uint8};
        dropout_forward(
            whole_value(100, 4, 100), {kKey, rate}, const_view_of(ones), y.view(), mask.view());
        std::int64_t kept = 0;
        for (std::int64_t i = 0; i < kSize; ++i) {
            const bool bit = mask.view().data[i] == std::byte{1};
            ASSERT_EQ(y.at(i), bit ? static_cast<double>(1.0f / (1.0f - rate)) : 0.0);
            kept += bit ? 1 : 0;
        }
        const double r = static_cast<double>(rate);
        EXPECT_NEAR(static_cast<double>(kept) / kSize, 1 - r, 5 * std::sqrt(r * (1 - r) / kSize));
    }
}

TEST(DropoutCpu, MasksDifferByLayerMicroBatchAndPurpose) {
    const std::vector<float> ones(4000, 1.0f);
    const auto run = [&](const RandomKey& key) {
        Tensor y{4000, Dtype::fp32};
        dropout_forward(whole_value(10, 4, 100), {key, 0.5f}, const_view_of(ones), y.view());
        return y;
    };
    const Tensor first = run(kKey);
    EXPECT_EQ(first, run(kKey));
    for (int changed = 0; changed < 3; ++changed) {
        RandomKey other = kKey;
        other.stream += changed == 0 ? 1 : 0;
        other.round += changed == 1 ? 1 : 0;
        other.purpose = changed == 2 ? RandomPurpose::projection_dropout : kKey.purpose;
        const Tensor y = run(other);
        std::int64_t equal = 0;
        for (std::int64_t i = 0; i < 4000; ++i) {
            equal += y.at(i) == first.at(i) ? 1 : 0;
        }
        EXPECT_NEAR(static_cast<double>(equal), 2000.0, 5 * std::sqrt(1000.0));
    }
}

// Sequence parallel, context parallel in balanced halves, and by columns: the whole's elements.
TEST(DropoutCpu, DoesNotDependOnSharding) {
    constexpr std::int64_t kSequence = 16;
    constexpr std::int64_t kBatch = 3;
    constexpr std::int64_t kWidth = 10;
    Draw draw{4};
    const Tensor x = draw.tensor(kSequence * kBatch * kWidth, Dtype::fp32);
    Tensor whole{x.size(), Dtype::fp32};
    const DropoutArguments dropout{kKey, 0.3f};
    dropout_forward(whole_value(kSequence, kBatch, kWidth), dropout, x.view(), whole.view());
    std::vector<ValueShard> shards;
    for (std::int64_t rank = 0; rank < 4; ++rank) {
        const SequencePositions early = contiguous_positions(4, rank * 4);
        shards.push_back({.sequence = early, .batch = kBatch, .width = kWidth});
        shards.push_back(
            {.sequence = balanced_positions(4, rank, 4), .batch = kBatch, .width = kWidth});
        shards.push_back({.sequence = early,
                          .batch = kBatch,
                          .width = 3,
                          .first_column = 2 * rank,
                          .global_width = kWidth});
    }
    for (const ValueShard& shard : shards) {
        Tensor part{shard.size(), Dtype::fp32};
        const auto global = [&](std::int64_t i) {
            return shard.row_start(i / shard.width) + i % shard.width;
        };
        for (std::int64_t i = 0; i < part.size(); ++i) {
            store(part.view(), i, load(x.view(), global(i)));
        }
        dropout_forward(shard, dropout, part.view(), part.view());
        for (std::int64_t i = 0; i < part.size(); ++i) {
            ASSERT_EQ(part.at(i), whole.at(global(i)));
        }
    }
}

// Dropout is linear with a fixed mask: <dy, dropout(x)> = <dropout(dy), x>.
TEST(DropoutCpu, BackwardIsTheTranspose) {
    Draw draw{5};
    const ValueShard shard = whole_value(7, 2, 9);
    const Tensor x = draw.tensor(shard.size(), Dtype::fp32);
    const Tensor dy = draw.tensor(shard.size(), Dtype::fp32);
    Tensor y{shard.size(), Dtype::fp32};
    Tensor dx{shard.size(), Dtype::fp32};
    dropout_forward(shard, {kKey, 0.4f}, x.view(), y.view());
    dropout_forward(shard, {kKey, 0.4f}, dy.view(), dx.view());
    EXPECT_NEAR(numeric::inner_product(dy.doubles(), y.doubles()),
                numeric::inner_product(dx.doubles(), x.doubles()),
                1e-5);
    EXPECT_NE(y, x);
}

TEST(BiasDropoutAddCpu, IsItsThreeSteps) {
    for (const float rate : {0.0f, 0.25f}) {
        Draw draw{6};
        const ValueShard shard = whole_value(5, 2, 8);
        const Tensor branch = draw.tensor(shard.size(), Dtype::fp32);
        const Tensor bias = draw.tensor(8, Dtype::fp32);
        const Tensor residual = draw.tensor(shard.size(), Dtype::fp32);
        Tensor sum{shard.size(), Dtype::fp32};
        Tensor mask{shard.size(), Dtype::uint8};
        bias_dropout_add(shard,
                         {kKey, rate},
                         {.branch = branch.view(),
                          .bias = bias.view(),
                          .residual = residual.view(),
                          .sum = sum.view(),
                          .mask = mask.view()});
        Tensor dropped{shard.size(), Dtype::fp32};
        Tensor biased = branch;
        for (std::int64_t i = 0; i < biased.size(); ++i) {
            store(biased.view(), i, load(branch.view(), i) + load(bias.view(), i % 8));
        }
        Tensor again{shard.size(), Dtype::uint8};
        dropout_forward(shard, {kKey, rate}, biased.view(), dropped.view(), again.view());
        residual_add(dropped.view(), residual.view(), dropped.view());
        EXPECT_EQ(sum, dropped);
        EXPECT_EQ(mask, again);
    }
}

TEST(BiasGradientCpu, AddsColumnSums) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        Draw draw{7};
        const Tensor dy = draw.tensor(31 * 6, dtype);
        Tensor dbias = draw.tensor(6, Dtype::fp32);
        numeric::Doubles expected = dbias.doubles();
        for (std::int64_t i = 0; i < dy.size(); ++i) {
            expected[static_cast<std::size_t>(i % 6)] += dy.at(i);
        }
        bias_gradient(31, 6, dy.view(), dbias.view());
        EXPECT_LT(numeric::relative_error(dbias, expected), 1e-6);
    }
}

}  // namespace
}  // namespace orrery::cpu
