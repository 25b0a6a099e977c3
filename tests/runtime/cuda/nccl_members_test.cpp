// SPDX-License-Identifier: Apache-2.0
// That all ranks agree on drawn plans is shown in nccl_communicators_test.cpp.
#include "runtime/cuda/nccl_members.h"

#include <gtest/gtest.h>

#include <set>

#include "models/lowering/lowering.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

// Two stages of two replicas each: messages go along a line of stages, gradients over the replicas.
TEST(NcclMembers, OfAMessageAreALineAndOfACollectiveItsGroup) {
    ParallelPlan plan = tiny_plan();
    plan.micro_batch_size = 1;
    plan.pipeline_model_parallel_size = 2;
    plan.data_parallel_size = 2;
    const Program program = lower(tiny_gpt(), plan);
    std::set<std::uint32_t> of_messages;
    std::set<std::uint32_t> of_collectives;
    std::set<std::vector<std::uint32_t>> lines;
    std::set<std::vector<std::uint32_t>> groups;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind() != OpKind::send_recv && op.kind() != OpKind::collective) {
                continue;
            }
            const bool message = op.kind() == OpKind::send_recv;
            for (std::uint32_t rank = 0; rank < program.num_ranks(); ++rank) {
                for (const NcclMembers& of :
                     communicators_of(program, static_cast<RankId>(rank), op)) {
                    EXPECT_EQ(of.ranks.at(of.position), rank);
                    (message ? of_messages : of_collectives).insert(of.id);
                    (message ? lines : groups).insert(of.ranks);
                }
            }
        }
    }
    EXPECT_EQ(lines, (std::set<std::vector<std::uint32_t>>{{0, 2}, {1, 3}}));
    EXPECT_TRUE(groups.contains({0, 1}) && groups.contains({2, 3}));
    for (const std::uint32_t id : of_messages) {
        EXPECT_FALSE(of_collectives.contains(id));
    }
}

// NCCL takes the limit for a communicator, not for a call: each has one of its own.
TEST(NcclMembers, OfAnotherMoverAreAnotherCommunicator) {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    plan.sequence_parallel = true;
    plan.tp_comm_overlap = true;
    const Program program = lower(tiny_gpt(), plan);
    std::set<std::pair<std::uint32_t, Mover>> communicators;
    for (const CollectiveCall& call : program.collectives) {
        const NcclMembers of = nccl_members(program, RankId{0}, call);
        EXPECT_EQ(of.mover, call.mover);
        communicators.emplace(of.id, of.mover);
    }
    const auto of_tensor = nccl_members(program, RankId{0}, program.collectives.front()).id;
    EXPECT_TRUE(communicators.contains({of_tensor, {.engine = TransferEngine::copy_engine}}));
    EXPECT_TRUE(communicators.contains({of_tensor, {.sm_limit = 16}}));
}

}  // namespace
}  // namespace orrery
