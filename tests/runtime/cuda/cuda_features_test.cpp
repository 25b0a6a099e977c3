// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_features.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(CudaFeatures, AreAllThereUnlessNamed) {
    EXPECT_EQ(*cuda_features_without(""), CudaFeatures{});
    EXPECT_EQ(CudaFeatures{}.without(), "");
    const CudaFeatures some = *cuda_features_without("graphs,wgmma,");
    EXPECT_FALSE(some.wgmma);
    EXPECT_FALSE(some.graphs);
    EXPECT_TRUE(some.mma && some.fused && some.gates);
    EXPECT_EQ(some.without(), "wgmma,graphs");
    EXPECT_EQ(*cuda_features_without(some.without()), some);
    EXPECT_EQ(cuda_features_without("gates,fused,graphs,mma,wgmma")->without(),
              "wgmma,mma,graphs,fused,gates");
}

TEST(CudaFeatures, AnUnknownWordIsAnErrorThatListsThem) {
    for (const char* words : {"wgmm", "wgmma graphs", "wgmma,Graphs"}) {
        const auto features = cuda_features_without(words);
        ASSERT_FALSE(features) << words;
        EXPECT_EQ(features.error().where, "ORRERY_CUDA_WITHOUT");
        EXPECT_NE(features.error().hint.find("wgmma,mma,graphs,fused,gates"), std::string::npos);
    }
}

}  // namespace
}  // namespace orrery
