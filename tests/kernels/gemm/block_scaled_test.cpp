// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/block_scaled.h"

#include <gtest/gtest.h>

#include "kernels/gemm/grouped_gemm.h"
#include "tests/kernels/devices.h"

namespace orrery {
namespace {

KernelCall scaled(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t groups = 1) {
    return grouped_gemm(groups, m, n, k, Dtype::fp8, Dtype::bf16, true);
}

double seconds_of(const KernelCall& call) {
    return block_scaled_seconds(call, hopper("h100-80g", 3350), {});
}

TEST(BlockScaled, LongProductsApproachTheAsymptote) {
    const KernelCall call = scaled(16'896, 16'384, 131'072);
    const double share =
        call.flop / seconds_of(call) / hopper("h100-80g", 3350).peak(Dtype::fp8).per_second();
    EXPECT_GT(share, 0.73);
    EXPECT_LT(share, BlockScaledCurve{}.asymptote);
}

TEST(BlockScaled, ShortDepthsPayForFillingAndStoring) {
    // The same FLOP, a sixteenth of the depth.
    EXPECT_GT(seconds_of(scaled(4096, 32'768, 512)), 1.4 * seconds_of(scaled(4096, 2048, 8192)));
}

TEST(BlockScaled, GroupsAreWorkedOffTogether) {
    EXPECT_DOUBLE_EQ(seconds_of(scaled(8192, 4096, 7168, 4)),
                     seconds_of(scaled(32'768, 4096, 7168)));
    // Ragged groups have half a tile more each than even ones.
    const std::vector<std::int64_t> ragged{1, 129, 257, 4096 - 387};
    const KernelCall uneven = grouped_gemm({.rows = ragged,
                                            .n = 4096,
                                            .k = 7168,
                                            .in = Dtype::fp8,
                                            .out = Dtype::bf16,
                                            .block_scaled = true});
    EXPECT_GT(seconds_of(uneven), seconds_of(scaled(1024, 4096, 7168, 4)));
}

}  // namespace
}  // namespace orrery
