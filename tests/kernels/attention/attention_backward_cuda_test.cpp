// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/attention/attention_backward_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using numeric::Draw;
using numeric::Tensor;

// The statistics of a head lie one behind the other, with one more where their number is odd: what
// is copied with the last one is no number that spoils a sum.
TEST(AttentionStatistics, LieByHeadAndEndInOneThatWeighsNothing) {
    constexpr std::int64_t kHeads = 3;  // of all sequences
    constexpr int kDim = 64;
    for (const std::int64_t queries : {4, 5}) {
        Draw draw{3};
        const Tensor output = draw.tensor(queries * kHeads * kDim, Dtype::bf16);
        const Tensor doutput = draw.tensor(queries * kHeads * kDim, Dtype::bf16);
        Tensor log_sum_exp = draw.tensor(queries * kHeads, Dtype::fp32);
        store(log_sum_exp.view(), 1, -kInfinity);  // query 0 of head 1 sees nothing
        const std::int64_t pitch = statistics_pitch(queries);
        EXPECT_EQ(pitch % 2, 0);
        std::vector<QueryStatistic> statistics(static_cast<std::size_t>(kHeads * pitch),
                                               {NAN, NAN});
        emulation::EmulatedQueue queue;
        const AttentionStatisticsKernel<kDim> kernel{
            .output = reinterpret_cast<const Bf16*>(output.view().data),
            .doutput = reinterpret_cast<const Bf16*>(doutput.view().data),
            .log_sum_exp = reinterpret_cast<const float*>(log_sum_exp.view().data),
            .statistics = statistics.data(),
            .queries = queries,
            .sequence_heads = kHeads};
        queue.launch(kernel, kernel.geometry());
        for (std::int64_t head = 0; head < kHeads; ++head) {
            for (std::int64_t query = 0; query < pitch; ++query) {
                SCOPED_TRACE(head * 100 + query);
                const QueryStatistic& own =
                    statistics[static_cast<std::size_t>(head * pitch + query)];
                if (query >= queries || (query == 0 && head == 1)) {
                    EXPECT_EQ(own.exponent, kInfinity);
                    EXPECT_TRUE(std::isfinite(own.row_sum));
                    continue;
                }
                const std::int64_t row = query * kHeads + head;
                double sum = 0;
                for (std::int64_t i = 0; i < kDim; ++i) {
                    sum += output.at(row * kDim + i) * doutput.at(row * kDim + i);
                }
                EXPECT_NEAR(static_cast<double>(own.row_sum), sum, 1e-5);
                EXPECT_FLOAT_EQ(own.exponent, load(log_sum_exp.view(), row) * kLog2e);
            }
        }
    }
}

}  // namespace
}  // namespace orrery::device
