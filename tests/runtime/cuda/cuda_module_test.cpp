// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_module.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(CudaModule, HasAllItsFunctionsOrSaysHowToBuildIt) {
    const Result<CudaModule>& module = cuda_module();
    if (!module) {
        EXPECT_TRUE(module.error().what.starts_with("built without CUDA")) << module.error().what;
        EXPECT_NE(module.error().hint.find("orrery_cuda"), std::string::npos);
        return;
    }
    EXPECT_NE(module->devices, nullptr);
    EXPECT_NE(module->versions, nullptr);
    EXPECT_NE(module->make_executor, nullptr);
    EXPECT_NE(module->make_decode_step, nullptr);
    EXPECT_EQ(&cuda_module(), &module) << "loaded once";
}

}  // namespace
}  // namespace orrery
