// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy/cross_entropy_cuda.h"

#include <cmath>

#include "kernels/cross_entropy/cross_entropy_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace cross_entropy_cuda_test {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

struct Statistics {
    Tensor maximum, sum_exp, target_logit;
    explicit Statistics(std::int64_t tokens)
        : maximum(tokens, Dtype::fp32),
          sum_exp(tokens, Dtype::fp32),
          target_logit(tokens, Dtype::fp32) {}
    cpu::LossStatistics views() { return {maximum.view(), sum_exp.view(), target_logit.view()}; }
};

struct Case {
    std::int64_t tokens;
    std::int64_t vocab;
    Tensor logits;
    std::vector<std::int32_t> targets;
    Doubles losses;
    Doubles gradient;  // for a scale of 1 / 4

    Case(Draw& draw, Dtype dtype)
        : tokens(draw.between(1, 6)),
          vocab(draw.coin() ? 2 * draw.between(1, 300) : 16 * draw.between(1, 200)),
          logits(draw.tensor(tokens * vocab, dtype, -8, 8)),
          targets(draw.ids(tokens, -1, vocab - 1)) {
        for (std::int64_t t = 0; t < tokens; ++t) {
            const std::int32_t target = targets[static_cast<std::size_t>(t)];
            double sum = 0;
            for (std::int64_t c = 0; c < vocab; ++c) {
                sum += std::exp(logits.at(t * vocab + c));
            }
            for (std::int64_t c = 0; c < vocab; ++c) {
                const double p = std::exp(logits.at(t * vocab + c)) / sum;
                gradient.push_back(target < 0 ? 0 : (p - (c == target ? 1 : 0)) / 4);
            }
            losses.push_back(target < 0 ? 0 : std::log(sum) - logits.at(t * vocab + target));
        }
    }
    ConstTensorView target_view() const { return view_of(std::span<const std::int32_t>{targets}); }
    // The columns of one of two ranks.
    Tensor half(std::int64_t rank) const {
        Tensor part{tokens * vocab / 2, logits.view().dtype};
        for (std::int64_t i = 0; i < part.size(); ++i) {
            const std::int64_t from = i / (vocab / 2) * vocab + rank * vocab / 2 + i % (vocab / 2);
            store(part.view(), i, static_cast<float>(logits.at(from)));
        }
        return part;
    }
};

void add_pair(const Tensor& a, const Tensor& b, Tensor& sum) {
    for (std::int64_t i = 0; i < sum.size(); ++i) {
        store(sum.view(), i, static_cast<float>(a.at(i) + b.at(i)));
    }
}

const std::vector<float> kQuarter{0.25f};

void check_loss(EmulatedQueue& queue, const Case& c, Statistics& statistics) {
    Tensor losses{c.tokens, Dtype::fp32};
    Tensor loss{1, Dtype::fp32};
    store(loss.view(), 0, 3.0f);
    cross_entropy_finish(queue,
                         c.tokens,
                         c.target_view(),
                         statistics.views(),
                         const_view_of(kQuarter),
                         loss.view(),
                         losses.view());
    double total = 0;
    for (std::size_t i = 0; i < c.losses.size(); ++i) {
        EXPECT_NEAR(losses.at(static_cast<std::int64_t>(i)), c.losses[i], 2e-5);
        total += c.losses[i];
    }
    EXPECT_NEAR(loss.at(0), 3 + total / 4, 1e-4);
}

TEST(CrossEntropyCuda, IsItsDefinitionAndDerivative) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const Case c{draw, dtype};
            const cpu::CrossEntropyShape s{.tokens = c.tokens, .vocab = c.vocab};
            Statistics statistics{c.tokens};
            EmulatedQueue queue{ThreadOrder::descending};
            cross_entropy_local(queue, s, c.logits.view(), c.target_view(), statistics.views());
            check_loss(queue, c, statistics);
            Tensor gradient = c.logits;
            cross_entropy_backward(queue,
                                   s,
                                   c.target_view(),
                                   statistics.views(),
                                   const_view_of(kQuarter),
                                   gradient.view());
            const double size = std::sqrt(numeric::inner_product(c.gradient, c.gradient));
            EXPECT_LE(numeric::distance(gradient, c.gradient),
                      numeric::tolerance(dtype) * size + 1e-7);
        }
    }
}

// Both ways that two ranks with half of the columns each can go.
TEST(CrossEntropyCuda, OfAShardedVocabularyIsThatOfTheWhole) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        const Case c{draw, Dtype::bf16};
        EmulatedQueue queue;
        for (const bool one_pass : {true, false}) {
            Statistics all{c.tokens};
            Statistics ranks[2] = {Statistics{c.tokens}, Statistics{c.tokens}};
            Statistics own[2] = {Statistics{c.tokens}, Statistics{c.tokens}};
            const auto shape = [&](std::int64_t r) {
                return cpu::CrossEntropyShape{c.tokens, c.vocab / 2, r * c.vocab / 2};
            };
            for (const std::int64_t r : {0, 1}) {
                Statistics& of = ranks[r];
                const Tensor half = c.half(r);
                if (one_pass) {
                    cross_entropy_local(queue, shape(r), half.view(), c.target_view(), of.views());
                } else {
                    cross_entropy_maximum(queue, shape(r), half.view(), of.maximum.view());
                }
                own[r] = of;
            }
            for (std::int64_t t = 0; t < c.tokens; ++t) {
                const auto larger =
                    static_cast<float>(std::max(ranks[0].maximum.at(t), ranks[1].maximum.at(t)));
                for (Statistics* of : {&ranks[0], &ranks[1], &all}) {
                    store(of->maximum.view(), t, larger);
                }
            }
            for (const std::int64_t r : {0, 1}) {
                if (one_pass) {
                    cross_entropy_rescale(queue, own[r].maximum.view(), ranks[r].views());
                } else {
                    const Tensor half = c.half(r);
                    cross_entropy_sums(
                        queue, shape(r), half.view(), c.target_view(), ranks[r].views());
                }
            }
            add_pair(ranks[0].sum_exp, ranks[1].sum_exp, all.sum_exp);
            add_pair(ranks[0].target_logit, ranks[1].target_logit, all.target_logit);
            check_loss(queue, c, all);
        }
    }
}

}  // namespace cross_entropy_cuda_test
}  // namespace orrery::device
