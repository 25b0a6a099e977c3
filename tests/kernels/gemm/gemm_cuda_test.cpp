// SPDX-License-Identifier: Apache-2.0
// Needs no GPU: what can be checked is that the library is found, and what it says without one.
// Results are compared with the CPU's on hardware (`orrery gpu-bench`).
#include "kernels/gemm/gemm_cuda.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>


namespace orrery {
namespace {

TEST(CudaGemm, WithoutADeviceIsAnError) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) {
        GTEST_SKIP() << "a GPU is there";
    }
    const auto made = CudaGemm::create({.device = "none", .num_sms = 1});
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().what.find("cublasLtCreate"), std::string::npos) << made.error().what;
}

}  // namespace
}  // namespace orrery
