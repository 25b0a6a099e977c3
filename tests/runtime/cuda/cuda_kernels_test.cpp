// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_kernels.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(CudaKernels, SayWhichKernelsTheyDoNotHave) {
    EXPECT_NE(why_not_on_cuda({.kind = KernelKind::lamb}), "");
}

}  // namespace
}  // namespace orrery
