// SPDX-License-Identifier: Apache-2.0
#include "models/serving_kernels.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ServingKernels, AnOperandIsReadIn16BitsAndWrittenInFewer) {
    EXPECT_EQ(quantise_operand(3, 10, ProductPrecision::fp8).bytes, 30 * 3);
    EXPECT_EQ(quantise_operand(4, 10, ProductPrecision::fp4).bytes, 40 * 5 / 2);
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
