// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm_range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/catalogue.h"

namespace orrery {
namespace {

KernelCall product_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
    return gemm(m, n, k, batch, Dtype::bf16, GemmEpilogue::none, Dtype::bf16);
}

TEST(GemmRange, CountsOctavesOutsideTheBox) {
    const GemmRange range{{product_of(1024, 4096, 512), product_of(8192, 256, 2048)}};
    EXPECT_EQ(range.octaves_outside(product_of(1024, 4096, 512)), 0);
    EXPECT_EQ(range.octaves_outside(product_of(5000, 500, 1000)), 0);
    EXPECT_EQ(range.octaves_outside(product_of(500, 5000, 1000)), 0) << "operands change places";
    EXPECT_DOUBLE_EQ(range.octaves_outside(product_of(16384, 500, 1000)), 1);
    EXPECT_DOUBLE_EQ(range.octaves_outside(product_of(8192, 500, 128)), 2);
    EXPECT_DOUBLE_EQ(range.octaves_outside(product_of(8 * 8192, 32, 1024)), std::hypot(3, 3));
    EXPECT_EQ(range.octaves_outside(product_of(5000, 500, 1000, 64)), 0) << "of any batch";
}

TEST(GemmRange, StandsInTheTableByGeneration) {
    const GemmRange range{{product_of(1024, 4096, 512), product_of(8192, 256, 2048)}};
    EfficiencyTable table;
    range.set(table, "hopper", "test");
    const auto read = GemmRange::of(table, "hopper");
    ASSERT_TRUE(read);
    for (const KernelCall& call : {product_of(1, 1, 1), product_of(1 << 20, 3, 70'000)}) {
        EXPECT_EQ(read->octaves_outside(call), range.octaves_outside(call));
    }
    EXPECT_FALSE(GemmRange::of(table, "ampere"));
    table.set("gemm.measured.depth_most", "hopper", "*", {.value = 0, .sigma = 0, .source = ""});
    EXPECT_FALSE(GemmRange::of(table, "hopper"));
}

}  // namespace
}  // namespace orrery
