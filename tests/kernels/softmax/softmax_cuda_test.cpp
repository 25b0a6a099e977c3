// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax/softmax_cuda.h"

#include <cmath>

#include "kernels/softmax/softmax_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

TEST(SoftmaxCuda, IsItsDefinitionAndDerivative) {
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const SoftmaxShape s{.batch = draw.between(1, 2),
                                 .heads = draw.between(1, 2),
                                 .seq_q = draw.between(1, 6),
                                 .seq_kv = draw.between(1, 300),
                                 .causal = draw.coin()};
            const cpu::SoftmaxArguments arguments{.scale = 0.4f,
                                                  .window = draw.coin() ? draw.between(1, 40) : 0};
            const std::int64_t rows = s.batch * s.heads * s.seq_q;
            const Tensor scores = draw.tensor(rows * s.seq_kv, dtype, -5, 5);
            const Tensor dp = draw.tensor(scores.size(), dtype);
            Tensor p{scores.size(), dtype};
            Tensor ds = dp;
            EmulatedQueue queue;
            softmax_forward(queue, s, arguments, scores.view(), p.view());
            softmax_backward(queue, s, arguments, p.view(), ds.view());
            Doubles expected(static_cast<std::size_t>(scores.size()), 0.0);
            Doubles expected_ds = expected;
            for (std::int64_t r = 0; r < rows; ++r) {
                const std::int64_t end =
                    s.causal ? std::max<std::int64_t>(
                                   s.seq_kv - s.seq_q + r / (s.batch * s.heads) + 1, 0)
                             : s.seq_kv;
                const std::int64_t first = s.causal && arguments.window > 0
                                               ? std::max<std::int64_t>(end - arguments.window, 0)
                                               : 0;
                double sum = 0;
                double mean = 0;
                for (std::int64_t i = first; i < end; ++i) {
                    sum += std::exp(0.4 * scores.at(r * s.seq_kv + i));
                }
                for (std::int64_t i = 0; i < s.seq_kv; ++i) {
                    const std::int64_t at = r * s.seq_kv + i;
                    if (i >= first && i < end) {
                        expected[static_cast<std::size_t>(at)] =
                            std::exp(0.4 * scores.at(at)) / sum;
                    }
                    mean += p.at(at) * dp.at(at);
                }
                for (std::int64_t i = 0; i < s.seq_kv; ++i) {
                    const std::int64_t at = r * s.seq_kv + i;
                    expected_ds[static_cast<std::size_t>(at)] =
                        static_cast<double>(0.4f) * p.at(at) * (dp.at(at) - mean);
                }
            }
            const double size = std::sqrt(numeric::inner_product(expected, expected));
            EXPECT_LE(numeric::distance(p, expected), numeric::tolerance(dtype) * size + 1e-7);
            EXPECT_LE(numeric::distance(ds, expected_ds), numeric::tolerance(dtype) * size + 1e-7);
        }
    }
}

}  // namespace
}  // namespace orrery::device
