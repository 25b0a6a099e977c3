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

// Eager PyTorch's product with the other half reads the function of the gate in its backward pass;
// a runtime that is launched from C++ computes it again.
TEST(ActivationLowering, AnEagerFrameworkKeepsTheFunctionOfTheGate) {
    const Transformer model = small_llama(1);
    const Program eager = verified(model, {.fused_activation = false, .eager_framework = true});
    const Program plain = verified(model, {.fused_activation = false, .eager_framework = false});
    EXPECT_EQ(bytes_of_tensor(eager, "activation"), 2 * bytes_of_tensor(plain, "activation"));
    EXPECT_EQ(activation_peak(eager) - activation_peak(plain),
              bytes_of_tensor(plain, "activation"));
}

}  // namespace
}  // namespace orrery
