// SPDX-License-Identifier: Apache-2.0
#include "models/activation_lowering.h"

#include <gtest/gtest.h>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

// A gated function in one kernel, or the function and the product in one each.
TEST(ActivationLowering, IsOneKernelOrAChain) {
    const Transformer model = small_llama(1);
    const Program fused = verified(model, {});
    EXPECT_EQ(ops_called(fused, "activation").size(), 1U);
    EXPECT_TRUE(ops_called(fused, "activation product").empty());
    const Program apart = verified(model, {.fused_activation = false});
    EXPECT_EQ(ops_called(apart, "activation").size(), 1U);
    EXPECT_EQ(ops_called(apart, "activation product").size(), 1U);
    EXPECT_EQ(ops_called(apart, "activation product backward").size(), 1U);
}

}  // namespace
}  // namespace orrery
