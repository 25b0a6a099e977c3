// SPDX-License-Identifier: Apache-2.0
// Products of experts, in models/blocks/grouped_products.cpp.
#include <gtest/gtest.h>

#include "models/segments/block_builder.h"
#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

KernelCall product_of(const Program& program, std::string_view name) {
    KernelCall call;
    for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
        if (program.names[op.name] == name) {
            call = program.kernel(op);
        }
    });
    return call;
}

// 2 experts of a rank with 64 of the 4 x 128 rows: dims = {m, n, k, groups, tiles, …}.
TEST(GroupedProducts, HaveARankOfTilesForEachExpert) {
    const Program program = verified(small_experts(), four_ranks());
    const KernelCall fc1 = product_of(program, "expert fc1");
    EXPECT_EQ(fc1.dims, (std::array<std::int64_t, 6>{64, 128, 128, 2, 2, 0}));
    const KernelCall wgrad = product_of(program, "expert fc1 wgrad");
    EXPECT_EQ(wgrad.dims[2], 64);
    EXPECT_EQ(wgrad.dims[3], 2);
}

// The busiest rank has a hot expert and one that is not.
TEST(GroupedProducts, HaveTheRowsOfTheBusiestRanksExperts) {
    Transformer model = small_experts();
    model.seq_length = 4096;
    ParallelPlan plan = four_ranks();
    plan.moe_router_load = RouterLoad::hot;
    plan.moe_router_load_alpha = 3;
    const KernelCall fc1 = product_of(verified(model, plan), "expert fc1");
    const double rows = 4.0 * 4096 * 2;
    const double hot = rows * 3 / 8;
    const double other = rows * 5 / 56;
    EXPECT_NEAR(static_cast<double>(fc1.dims[4]), (hot + other) / 128, 2);
    EXPECT_NEAR(fc1.flop, 2.0 * (hot + other) * 128 * 128, 1e6);
}

}  // namespace
}  // namespace orrery
