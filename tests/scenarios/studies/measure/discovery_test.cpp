// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/discovery.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Discovery, OfACpuHasRatesAndACluster) {
    const auto found = discover("cpu", "");
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->device, "cpu");
    EXPECT_GT(found->rates.gemm_fp32.per_second(), 0);
    EXPECT_EQ(found->cluster.find("cluster:"), 0u) << found->cluster;
    EXPECT_FALSE(discover("tpu", ""));
    EXPECT_FALSE(discover("cpu", "/no/such/topology.xml"));
}

}  // namespace
}  // namespace orrery
