// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy/cross_entropy_cpu.h"

#include <algorithm>
#include <cmath>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace cross_entropy_cpu_test {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

struct Statistics {
    Tensor maximum, sum_exp, target_logit;
    explicit Statistics(std::int64_t tokens)
        : maximum(tokens, Dtype::fp32),
          sum_exp(tokens, Dtype::fp32),
          target_logit(tokens, Dtype::fp32) {}
    LossStatistics views() { return {maximum.view(), sum_exp.view(), target_logit.view()}; }
};

struct LossCase {
    CrossEntropyShape shape;
    Tensor logits;
    std::vector<std::int32_t> targets;  // about one of `vocab + 1` is ignored
};

LossCase draw_loss_case(std::uint64_t seed, Dtype dtype, std::int64_t vocab_multiple = 1) {
    Draw draw{seed};
    const CrossEntropyShape s{.tokens = draw.between(1, 9),
                              .vocab = vocab_multiple * draw.between(1, 20)};
    return {s,
            draw.tensor(s.tokens * s.vocab, dtype, -6, 6),
            draw.ids(s.tokens, kIgnoredTarget, s.vocab - 1)};
}

Doubles slow_losses(const LossCase& c, const Doubles& logits) {
    Doubles losses;
    for (std::int64_t token = 0; token < c.shape.tokens; ++token) {
        const std::int32_t target = c.targets[static_cast<std::size_t>(token)];
        const Doubles row = numeric::part(logits, token * c.shape.vocab, c.shape.vocab);
        double sum = 0;
        for (const double z : row) {
            sum += std::exp(z);
        }
        losses.push_back(
            target == kIgnoredTarget ? 0 : std::log(sum) - row[static_cast<std::size_t>(target)]);
    }
    return losses;
}

TEST(CrossEntropyCpu, IsTheDefinitionAndItsMeanLeavesIgnoredTokensOut) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            const LossCase c = draw_loss_case(seed, dtype);
            Statistics statistics{c.shape.tokens};
            Tensor loss{c.shape.tokens, Dtype::fp32};
            const LossSum sum = cross_entropy_forward(
                c.shape, c.logits.view(), view_of(c.targets), statistics.views(), loss.view());
            const Doubles expected = slow_losses(c, c.logits.doubles());
            EXPECT_LT(numeric::distance(loss, expected), 1e-5);
            double total = 0;
            for (const double value : expected) {
                total += value;
            }
            const auto counted =
                c.shape.tokens - std::count(c.targets.begin(), c.targets.end(), kIgnoredTarget);
            EXPECT_EQ(sum.tokens, counted);
            EXPECT_NEAR(sum.sum, total, 1e-5);
            EXPECT_NEAR(sum.mean(), counted > 0 ? total / static_cast<double>(counted) : 0, 1e-5);
        }
    }
}

TEST(CrossEntropyCpu, BackwardIsTheDerivative) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            LossCase c = draw_loss_case(seed, dtype);
            Statistics statistics{c.shape.tokens};
            cross_entropy_local(c.shape, c.logits.view(), view_of(c.targets), statistics.views());
            const Doubles expected = numeric::numeric_gradient(
                [&](const Doubles& at) {
                    return 0.25 * numeric::inner_product(slow_losses(c, at),
                                                         Doubles(c.targets.size(), 1.0));
                },
                c.logits.doubles());
            cross_entropy_backward(
                c.shape, view_of(c.targets), statistics.views(), 0.25f, c.logits.view());
            EXPECT_LT(numeric::distance(c.logits, expected), dtype == Dtype::bf16 ? 4e-3 : 1e-6);
        }
    }
}

// The vocabulary in four shards; the all-reduces are loops. Two passes over the logits, or one.
void check_shards(std::uint64_t seed, bool one_pass) {
    constexpr std::size_t kRanks = 4;
    LossCase c = draw_loss_case(seed, Dtype::fp32, kRanks);
    const std::int64_t tokens = c.shape.tokens;
    const std::int64_t local = c.shape.vocab / static_cast<std::int64_t>(kRanks);
    const ConstTensorView targets = view_of(c.targets);
    std::vector<Tensor> logits(kRanks, Tensor{tokens * local, Dtype::fp32});
    std::vector<Statistics> parts(kRanks, Statistics{tokens});
    const auto shape = [&](std::size_t rank) {
        return CrossEntropyShape{tokens, local, static_cast<std::int64_t>(rank) * local};
    };
    Statistics all{tokens};
    std::fill_n(floats(all.maximum.view()).begin(), tokens, -1e30f);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
        for (std::int64_t i = 0; i < logits[rank].size(); ++i) {
            const std::int64_t from =
                i / local * c.shape.vocab + shape(rank).first_column + i % local;
            store(logits[rank].view(), i, load(c.logits.view(), from));
        }
        if (one_pass) {
            cross_entropy_local(shape(rank), logits[rank].view(), targets, parts[rank].views());
        } else {
            cross_entropy_maximum(shape(rank), logits[rank].view(), parts[rank].maximum.view());
        }
        for (std::int64_t i = 0; i < tokens; ++i) {
            const float larger =
                std::max(load(all.maximum.view(), i), load(parts[rank].maximum.view(), i));
            store(all.maximum.view(), i, larger);
        }
    }
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
        const Tensor own = parts[rank].maximum;
        parts[rank].maximum = all.maximum;
        if (one_pass) {
            cross_entropy_rescale(own.view(), parts[rank].views());
        } else {
            cross_entropy_sums(shape(rank), logits[rank].view(), targets, parts[rank].views());
        }
        for (std::int64_t i = 0; i < tokens; ++i) {
            const auto add = [i](Tensor& sum, const Tensor& part) {
                store(sum.view(), i, load(sum.view(), i) + load(part.view(), i));
            };
            add(all.sum_exp, parts[rank].sum_exp);
            add(all.target_logit, parts[rank].target_logit);
        }
    }
    Tensor loss{tokens, Dtype::fp32};
    cross_entropy_finish(targets, all.views(), loss.view());
    EXPECT_LT(numeric::distance(loss, slow_losses(c, c.logits.doubles())), 1e-5);
    Tensor whole = c.logits;
    cross_entropy_backward(c.shape, targets, all.views(), 1.0f, whole.view());
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
        cross_entropy_backward(shape(rank), targets, all.views(), 1.0f, logits[rank].view());
        for (std::int64_t i = 0; i < logits[rank].size(); ++i) {
            const std::int64_t from =
                i / local * c.shape.vocab + shape(rank).first_column + i % local;
            ASSERT_EQ(logits[rank].at(i), whole.at(from));
        }
    }
}

TEST(CrossEntropyCpu, FourShardsOfTheVocabularyAreTheWhole) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        check_shards(seed, false);
        check_shards(seed, true);
    }
}

TEST(CrossEntropyCpu, LargeLogitsDoNotOverflow) {
    const std::vector<float> logits{2000.0f, 1000.0f};
    const std::vector<std::int32_t> targets{1};
    Statistics statistics{1};
    Tensor loss{1, Dtype::fp32};
    cross_entropy_forward(
        {1, 2}, const_view_of(logits), view_of(targets), statistics.views(), loss.view());
    EXPECT_EQ(loss.at(0), 1000.0);
}

}  // namespace cross_entropy_cpu_test
}  // namespace orrery::cpu
