// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/grouped_gemm.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/catalogue.h"
#include "kernels/efficiency.h"
#include "tests/kernels/devices.h"

namespace orrery {
namespace {

using Rows = std::vector<std::int64_t>;

KernelCall of_rows(const Rows& rows, std::int64_t multiple = 1) {
    return grouped_gemm({.rows = rows, .n = 256, .k = 512, .row_multiple = multiple});
}

TEST(GroupedGemm, WorkIsThatOfTheRealRows) {
    const KernelCall call = of_rows({100, 0, 300});
    EXPECT_DOUBLE_EQ(call.flop, 2.0 * 400 * 256 * 512);
    // An expert without tokens is not read.
    EXPECT_EQ(call.bytes, 2 * (400 * 512 + 2 * 512 * 256 + 400 * 256));
    EXPECT_EQ(call.dims, (std::array<std::int64_t, 6>{200, 256, 512, 2, 1 + 3, 0}));
    EXPECT_EQ(gemm_output(call), Dtype::bf16);
}

TEST(GroupedGemm, PaddingAddsRows) {
    EXPECT_EQ(padded_rows(1, 16), 16);
    EXPECT_EQ(padded_rows(128, 128), 128);
    EXPECT_EQ(padded_rows(0, 128), 0);
    EXPECT_DOUBLE_EQ(of_rows({100, 0, 300}, 128).flop, 2.0 * (128 + 384) * 256 * 512);
}

TEST(GroupedGemm, EqualGroupsAreABatch) {
    const KernelCall grouped = grouped_gemm(4, 256, 512, 1024, Dtype::bf16, Dtype::bf16);
    const KernelCall batch = gemm(256, 512, 1024, 4, Dtype::bf16, GemmEpilogue::none, Dtype::bf16);
    EXPECT_DOUBLE_EQ(grouped.flop, batch.flop);
    EXPECT_EQ(grouped.bytes, batch.bytes);
    for (const std::int64_t rows : {64, 128, 256}) {
        EXPECT_DOUBLE_EQ(row_tiles(grouped, rows), row_tiles(batch, rows));
    }
}

TEST(GroupedGemm, TilesOfRaggedGroups) {
    const KernelCall call = of_rows({1, 129, 1000});
    EXPECT_DOUBLE_EQ(row_tiles(call, 128), 1 + 2 + 8);
    // Half of each group's last tile is empty in the mean.
    EXPECT_DOUBLE_EQ(row_tiles(call, 64), 2 * (11 - 1.5) + 1.5);
    EXPECT_DOUBLE_EQ(row_tiles(call, 256), (11 - 1.5) / 2 + 1.5);
}

TEST(GroupedGemm, BlockScaledOperandsHaveScales) {
    const KernelCall plain = grouped_gemm(1, 256, 512, 1024, Dtype::fp8, Dtype::bf16);
    const KernelCall scaled = grouped_gemm(1, 256, 512, 1024, Dtype::fp8, Dtype::bf16, true);
    EXPECT_EQ(scaled.bytes - plain.bytes, 4 * (256 * 8 + 8 * 4));
    EXPECT_TRUE(is_block_scaled(scaled));
    EXPECT_FALSE(is_block_scaled(plain));
    EXPECT_EQ(gemm_output(scaled), Dtype::bf16);
    EXPECT_EQ(gemm_epilogue(scaled), GemmEpilogue::none);
}

TEST(GroupedGemm, GradientsOfWeightsCountResultsByGroup) {
    const Rows rows{100, 300};
    const KernelCall call = grouped_gemm_weights(
        {.rows = rows,
         .n = 256,
         .k = 512,
         .out = Dtype::fp32,
         .epilogue = GemmEpilogue::accumulate});
    EXPECT_DOUBLE_EQ(call.flop, 2.0 * 400 * 256 * 512);
    EXPECT_EQ(call.bytes, 2 * 400 * (256 + 512) + 2 * 2 * 4 * 256 * 512);
    EXPECT_EQ(call.dims[3], 2);
}

TEST(GroupedGemm, FewRowsCostWhatTheWeightsCost) {
    const EfficiencyTable table;
    const EfficiencyCurves curves(table, hopper("h100-80g", 3350));
    const auto seconds = [&](std::int64_t rows) {
        return curves.time(grouped_gemm(8, rows, 4096, 7168, Dtype::bf16, Dtype::bf16)).seconds;
    };
    EXPECT_LT(seconds(16) / seconds(1), 1.05);
    EXPECT_GT(seconds(4096) / seconds(16), 5);
}

TEST(GroupedGemm, QuantisingReadsOnceAndWritesOneOrTwoCopies) {
    const std::int64_t elements = 4096 * 7168;
    EXPECT_EQ(block_quantise(4096, 7168, false).bytes, elements * 3 + elements / 32);
    EXPECT_EQ(block_quantise(4096, 7168, true).bytes, elements * 4 + elements / 16);
}

// Of equal rows a key says everything; of ragged ones it keeps their tiles.
TEST(GroupedGemm, IsFoundAgainByItsKey) {
    const auto again = [](const KernelCall& call) {
        return call_from_key(call.kind, call.dtype, call.variant, call.dims);
    };
    const std::vector<std::int64_t> equal(6, 200);
    const std::vector<std::int64_t> ragged{200, 1, 700, 0, 3, 90};
    for (const bool gradient : {false, true}) {
        const auto call_of = [&](const std::vector<std::int64_t>& rows) {
            const GroupedGemm product{
                .rows = rows,
                .n = 96,
                .k = 64,
                .epilogue = gradient ? GemmEpilogue::accumulate : GemmEpilogue::none};
            return gradient ? grouped_gemm_weights(product) : grouped_gemm(product);
        };
        EXPECT_EQ(again(call_of(equal)), call_of(equal));
        const auto found = again(call_of(ragged));
        ASSERT_TRUE(found);
        EXPECT_EQ(found->dims, call_of(ragged).dims);
    }
}

}  // namespace
}  // namespace orrery
