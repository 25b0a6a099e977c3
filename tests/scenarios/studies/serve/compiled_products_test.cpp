// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/compiled_products.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// The values of get_best_gemm_config for 132 SMs.
TEST(CompiledProducts, HaveDeepGemmsTilings) {
    EXPECT_EQ(product_tiling(64, 2112, 7168, 132), (ProductTiling{64, 16, 8, 1}));
    EXPECT_EQ(product_tiling(866, 2112, 7168, 132), (ProductTiling{128, 120, 6, 1}));
    EXPECT_EQ(product_tiling(991, 2112, 7168, 132), (ProductTiling{128, 64, 8, 1}));
    EXPECT_EQ(product_tiling(1152, 7168, 2048, 132), (ProductTiling{128, 128, 5, 2}));
    EXPECT_EQ(product_tiling(8192, 4096, 512, 132), (ProductTiling{128, 128, 5, 2}));
}

}  // namespace
}  // namespace orrery
