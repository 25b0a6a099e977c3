// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/operations/moe_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace orrery {
namespace {

MoeLayer layer(const char* dispatcher, bool fp8 = false) {
    return {.tokens = 4096,
            .hidden = 7168,
            .width = 2048,
            .experts = 32,
            .topk = 8,
            .ranks = 8,
            .block_fp8 = fp8,
            .dispatcher = find_dispatcher(dispatcher),
            .distinct = 5.4 * 4096};
}

double products(const std::vector<KernelCall>& calls) {
    double flop = 0;
    for (const KernelCall& call : calls) {
        flop += call.kind == KernelKind::gemm && call.dtype != Dtype::fp32 ? call.flop : 0.0;
    }
    return flop;
}

std::int64_t moved(const std::vector<KernelCall>& calls) {
    std::int64_t bytes = 0;
    for (const KernelCall& call : calls) {
        bytes += call.kind == KernelKind::gemm ? 0 : call.bytes;
    }
    return bytes;
}

TEST(MoeLayer, TwoMatricesForwardAndFourBackward) {
    const double one = 2.0 * 4096 * 8 * 2048 * 7168;
    for (const char* by : {"alltoall", "deepep", "hybridep"}) {
        EXPECT_DOUBLE_EQ(products(megatron_forward(layer(by))), 2 * one) << by;
        EXPECT_DOUBLE_EQ(products(megatron_backward(layer(by))), 4 * one) << by;
    }
    MoeLayer alone = layer("alltoall");
    alone.ranks = 1;
    alone.experts = alone.topk = 1;
    EXPECT_DOUBLE_EQ(products(tutel_step(alone)), 6 * 2.0 * 4096 * 2048 * 7168);
}

// Rows that travel once are copied once for each expert where they arrive; choices that travel are
// permuted before and sorted by expert after.
TEST(MoeLayer, RowsThatTravelOnceMoveLessMemory) {
    EXPECT_LT(moved(megatron_forward(layer("deepep"))), moved(megatron_forward(layer("alltoall"))));
    EXPECT_EQ(moved(megatron_forward(layer("deepep"))), moved(megatron_forward(layer("hybridep"))));
}

TEST(MoeLayer, Fp8AddsCastsAndTheirRows) {
    const auto plain = megatron_forward(layer("hybridep"));
    const auto fp8 = megatron_forward(layer("hybridep", true));
    const auto casts = [](const std::vector<KernelCall>& calls) {
        return std::count_if(calls.begin(), calls.end(), [](const KernelCall& call) {
            return call.kind == KernelKind::cast && call.dtype == Dtype::bf16 &&
                   call.variant % 8 == static_cast<int>(Dtype::fp8);
        });
    };
    EXPECT_EQ(casts(plain), 0);
    EXPECT_EQ(casts(fp8), 4);  // both weights, the rows and the activation
    // Groups are filled up by a copy unless the dispatcher's permutation does it.
    EXPECT_EQ(megatron_forward(layer("deepep", true)).size(), fp8.size() + 2);
}

}  // namespace
}  // namespace orrery
