// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/context_ring.h"

#include <set>

#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr ParallelPlan kCut{.tensor_model_parallel_size = 2,
                            .context_parallel_size = 8,
                            .data_parallel_size = 2,
                            .expert_model_parallel_size = 4,
                            .expert_tensor_parallel_size = 1};

TEST(ContextRing, GoesRoundTheInnerDigitFirst) {
    const LayoutAssignment a = assign_layouts(kCut);
    const std::uint32_t inner = a.mesh.digit("cp0");
    const std::uint32_t outer = a.mesh.digit("cp1");
    ASSERT_EQ(a.mesh.size(inner), 2);
    ASSERT_EQ(a.mesh.size(outer), 4);
    EXPECT_EQ(ranks_of_ring(a), 8);
    const std::vector<std::uint32_t> expected{inner, outer, inner, outer, inner, outer, inner};
    for (std::int64_t hop = 1; hop < 8; ++hop) {
        EXPECT_EQ(digit_of_hop(a, hop), expected[static_cast<std::size_t>(hop - 1)]) << hop;
    }
}

TEST(ContextRing, MeetsEveryRankOnce) {
    for (const std::int64_t experts : {1, 2, 4, 8, 16}) {
        for (const std::int64_t split : {1, 2, 4}) {
            ParallelPlan plan = kCut;
            plan.expert_model_parallel_size = experts / std::min(experts, split);
            plan.expert_tensor_parallel_size = std::min(experts, split);
            const LayoutAssignment a = assign_layouts(plan);
            RankId at = to_id<RankId>(5);
            std::set<RankId> met{at};
            for (std::int64_t hop = 1; hop < ranks_of_ring(a); ++hop) {
                at = a.mesh.shifted(at, digit_of_hop(a, hop), 1);
                met.insert(at);
            }
            const std::vector<RankId> members =
                a.mesh.members({.digits = a.mesh.axis("cp")}, to_id<RankId>(5));
            EXPECT_EQ(met, std::set<RankId>(members.begin(), members.end()));
        }
    }
}

TEST(ContextRing, IsOfRanksThatPassBlocksOn) {
    ParallelPlan plan = kCut;
    plan.context_parallel_comm = ContextParallelComm::all_to_all;
    EXPECT_EQ(ranks_of_ring(assign_layouts(plan)), 1);
    plan = kCut;
    plan.context_parallel_size = 1;
    EXPECT_EQ(ranks_of_ring(assign_layouts(plan)), 1);
}

}  // namespace
}  // namespace orrery
