// SPDX-License-Identifier: Apache-2.0
#include "models/serving/serving_kernels.h"

#include <gtest/gtest.h>

#include "kernels/gemm/grouped_gemm.h"

namespace orrery {
namespace {

TEST(ServingKernels, AnOperandIsReadIn16BitsAndWrittenInFewer) {
    EXPECT_EQ(quantise_operand(3, 10, ProductPrecision::fp8).bytes, 30 * 3);
    EXPECT_EQ(quantise_operand(4, 10, ProductPrecision::fp4).bytes, 40 * 5 / 2);
}

// A scale of 4 bytes for 128 elements of a row, and for 128 x 128 of the weights.
TEST(ServingKernels, BlocksHaveScales) {
    const ServingPlan plain{.precision = ProductPrecision::fp8};
    const ServingPlan scaled{.precision = ProductPrecision::fp8, .block_scaled = true};
    EXPECT_FALSE(is_block_scaled(served_product(plain, 6, 256, 512)));
    const KernelCall product = served_product(scaled, 6, 256, 512);
    EXPECT_TRUE(is_block_scaled(product));
    EXPECT_EQ(product.flop, served_product(plain, 6, 256, 512).flop);
    EXPECT_EQ(product.bytes - served_product(plain, 6, 256, 512).bytes, 4 * (6 * 4 + 2 * 4));
    EXPECT_EQ(
        served_experts(scaled, 3, 6, 256, 512).bytes - served_experts(plain, 3, 6, 256, 512).bytes,
        3 * 4 * (6 * 4 + 2 * 4));
}

// 5 rows of 2 adapters are 3 rows each.
TEST(ServingKernels, AdaptersReadTheirWeightsOnce) {
    const AdapterKernels kernels = adapter_kernels(2, 5, 40, 30, 4);
    EXPECT_EQ(kernels.in.flop, 2.0 * 2 * 3 * 4 * 30);
    EXPECT_EQ(kernels.in.bytes, 2 * (2 * 30 * 4 + 6 * 30 + 6 * 4));
    EXPECT_EQ(kernels.out.flop, 2.0 * 2 * 3 * 40 * 4);
    EXPECT_EQ(kernels.out.bytes, 2 * (2 * 4 * 40 + 6 * 4 + 2 * 6 * 40));
}

TEST(ServingKernels, SmallKernelsMoveWhatTheySay) {
    EXPECT_EQ(written_cache(3, 10, Dtype::fp8).bytes, 3 * 10 * (2 + 1));
    EXPECT_EQ(moved_rows(6, 4, 10).bytes, (6 + 4) * 10 * 2);
    EXPECT_EQ(ordered_heads(4, 8).bytes, 2 * 4 * 8 * 2);
    EXPECT_EQ(expert_order(5).bytes, 2 * 5 * 4);
}

}  // namespace
}  // namespace orrery
