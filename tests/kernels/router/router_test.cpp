// SPDX-License-Identifier: Apache-2.0
#include "kernels/router/router.h"

#include <gtest/gtest.h>

#include "kernels/catalogue.h"

namespace orrery {
namespace {

// DeepSeek-V3's: 256 experts, 8 of them from 4 of 8 groups.
constexpr RouterShape kDeepSeek{.tokens = 4096,
                                .experts = 256,
                                .k = 8,
                                .groups = 8,
                                .kept_groups = 4,
                                .score = RouterScore::sigmoid,
                                .biased = true};

TEST(Router, CountsWhatItReadsAndWrites) {
    const KernelCall forward = router_forward(kDeepSeek, Dtype::fp32);
    EXPECT_EQ(forward.bytes, 4096 * (256 * 4 + 8 * (4 + 4)) + 256 * 4);
    EXPECT_DOUBLE_EQ(forward.flop, 4096.0 * 256 * 12);
    EXPECT_EQ(router_backward(kDeepSeek, Dtype::fp32).bytes, 4096 * ((8 + 256) * 4 + 8 * 8));
    RouterShape dense = kDeepSeek;
    dense.score = RouterScore::softmax;
    dense.normalised = false;
    EXPECT_EQ(router_backward(dense, Dtype::bf16).bytes, 4096 * (2 * 256 * 2 + 8 * 8));
}

TEST(Router, IsFoundByItsKey) {
    for (int bits = 0; bits < 8; ++bits) {
        RouterShape shape = kDeepSeek;
        shape.score = bits % 2 == 1 ? RouterScore::sigmoid : RouterScore::softmax;
        shape.biased = bits / 2 % 2 == 1;
        shape.normalised = bits / 4 == 1;
        for (const KernelCall& call :
             {router_forward(shape, Dtype::bf16), router_backward(shape, Dtype::bf16)}) {
            EXPECT_EQ(router_shape(call), shape);
            EXPECT_EQ(call_from_key(call.kind, call.dtype, call.variant, call.dims), call);
        }
    }
}

TEST(Router, HasNoShapeWithFewerExpertsThanChoices) {
    const auto found = [](const std::array<std::int64_t, 6>& dims) {
        return call_from_key(KernelKind::router_forward, Dtype::fp32, 0, dims).has_value();
    };
    EXPECT_TRUE(found({16, 64, 8, 8, 1}));
    EXPECT_FALSE(found({16, 64, 9, 8, 1}));  // eight in the only group that is kept
    EXPECT_FALSE(found({16, 64, 8, 8, 9}));  // more groups kept than there are
    EXPECT_FALSE(found({16, 64, 8, 7, 1}));  // groups of different sizes
    EXPECT_FALSE(found({16, 64, 8, 8, 0}));
    EXPECT_FALSE(found({16, 64, 8, 8, 1, 1}));
}

}  // namespace
}  // namespace orrery
