// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/block_scaled.h"

#include <gtest/gtest.h>

#include <cmath>

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

// Composable Kernel's instances in AITER on an MI300X (kernels/gemm/block_scaled.cpp says which).
TEST(BlockScaled, TilesOfFewRowsWaitForTheirLoadsOnCdna3) {
    DeviceSpec mi300x = hopper("mi300x", 5300);
    mi300x.num_sms = 304;
    mi300x.peak_fp8 = FlopRate::per_second(2614.9e12);
    const BlockScaledCurve* curve = block_scaled_curve("cdna3");
    ASSERT_NE(curve, nullptr);
    const auto us = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        return block_scaled_seconds(scaled(m, n, k), mi300x, *curve) * 1e6 + 2 + curve->latency_us;
    };
    struct Row {
        std::int64_t m;
        std::int64_t n;
        std::int64_t k;
        double us;
    };
    for (const Row& row : {Row{16, 576, 7168, 18.4},
                           Row{16, 4608, 7168, 20.1},
                           Row{16, 3072, 1536, 6.4},
                           Row{512, 4608, 7168, 63.2},
                           Row{4096, 7168, 2048, 179.9},
                           Row{16'384, 4608, 7168, 1497}}) {
        EXPECT_LT(std::abs(us(row.m, row.n, row.k) / row.us - 1), 0.15) << row.m << " " << row.n;
    }
    EXPECT_EQ(block_scaled_curve("blackwell"), nullptr);
}

}  // namespace
}  // namespace orrery
