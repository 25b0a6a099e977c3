// SPDX-License-Identifier: Apache-2.0
#include "engine/program/merged_program.h"

#include <gtest/gtest.h>

#include "engine/program/verifier.h"
#include "tests/engine/program_builder.h"

namespace orrery {
namespace {

using namespace orrery::literals;

// Two stages of two ranks: a kernel, a sum over the stage, a message to the next stage.
Program stages(std::uint32_t dp) {
    ProgramBuilder b({{"dp", dp}, {"pp", 2}});
    const GroupId group = b.group("dp", 1);
    for (std::uint32_t r = 0; r < 2; ++r) {
        b.role(r);
        const std::uint32_t kernel = b.kernel(1_us);
        b.collective(group, 1_MiB, kNet, {kernel});
        b.exchange({{.is_send = r == 0, .digit = 1, .delta = r == 0 ? 1 : -1, .bytes = 1_KiB}});
        b.copy({.from = MemoryTier::dram, .to = MemoryTier::hbm, .bytes = Bytes{dp + r}});
    }
    b.program.stream_names = {"compute", "net"};
    return b.program;
}

TEST(MergedProgram, PartiesFollowEachOther) {
    const Program small = stages(2);
    Program large = stages(4);
    large.stream_names = {"compute", "other net"};
    const Program both =
        merge_programs(std::vector<ProgramToMerge>{{"small", &small}, {"large", &large}});
    EXPECT_TRUE(verify(both).empty());
    EXPECT_EQ(both.num_ranks(), 12U);
    ASSERT_EQ(both.parties.size(), 2U);
    EXPECT_EQ(both.parties[0].name, "small");
    EXPECT_EQ(both.parties[1].name, "large");
    EXPECT_EQ(both.parties[1].mesh.first_rank(), RankId{4});
    EXPECT_EQ(both.roles.size(), 4U);
    EXPECT_EQ(num_ops(both), num_ops(small) + num_ops(large));
    EXPECT_EQ(num_ops(both, 1), num_ops(large));
    EXPECT_EQ(both.stream_names, (std::vector<std::string>{"compute", "net", "other net"}));
    // Rank 8 is the large job's rank 4, the first of its second stage.
    EXPECT_EQ(both.role_of(RankId{3}), RoleId{1});
    EXPECT_EQ(both.role_of(RankId{4}), RoleId{2});
    EXPECT_EQ(both.role_of(RankId{8}), RoleId{3});
    EXPECT_EQ(both.ranks_of_role(RoleId{0}), 2U);
    EXPECT_EQ(both.ranks_of_role(RoleId{3}), 4U);
    const Mesh& mesh = both.mesh_of(RankId{8});
    EXPECT_EQ(mesh.shifted(RankId{8}, 1, 1), RankId{4});
    EXPECT_EQ(mesh.members(both.groups[1], RankId{9}),
              (std::vector<RankId>{RankId{8}, RankId{9}, RankId{10}, RankId{11}}));
}

TEST(MergedProgram, OpsPointIntoTheTablesOfTheirJob) {
    const Program small = stages(2);
    const Program large = stages(4);
    const Program both =
        merge_programs(std::vector<ProgramToMerge>{{"small", &small}, {"large", &large}});
    const std::vector<Op>& ops = both.segment_of(both.roles[2].slots[0]).ops;
    const std::vector<Op>& alone = large.segment_of(large.roles[0].slots[0]).ops;
    ASSERT_EQ(ops.size(), alone.size());
    for (std::size_t o = 0; o < ops.size(); ++o) {
        EXPECT_EQ(ops[o].kind(), alone[o].kind());
        EXPECT_EQ(ops[o].num_waits, alone[o].num_waits);
    }
    EXPECT_EQ(ops[0].payload.number(), small.kernels.size() + alone[0].payload.number());
    EXPECT_EQ(both.collective(ops[1]).group, GroupId{1});
    EXPECT_EQ(both.copy(ops[3]).bytes, Bytes{4});
    EXPECT_EQ(both.groups[1].party, 1U);
    EXPECT_EQ(both.waits[ops[1].first_wait], large.waits[alone[1].first_wait]);
}

TEST(MergedProgram, ListedRanksMoveWithTheirJob) {
    Program listed = stages(2);
    listed.groups[0].explicit_ranks = {{RankId{0}, RankId{1}}, {RankId{2}, RankId{3}}};
    const Program first = stages(4);
    const Program both =
        merge_programs(std::vector<ProgramToMerge>{{"first", &first}, {"listed", &listed}});
    EXPECT_EQ(both.groups[1].explicit_ranks,
              (std::vector<std::vector<RankId>>{{RankId{8}, RankId{9}}, {RankId{10}, RankId{11}}}));
}

// A group of one job is none of another's.
TEST(MergedProgram, VerifierRefusesAnotherPartysGroup) {
    const Program small = stages(2);
    Program both = merge_programs(std::vector<ProgramToMerge>{{"a", &small}, {"b", &small}});
    EXPECT_TRUE(verify(both).empty());
    Op& op = both.segments[2].ops[1];
    both.collectives[index(op.payload.collective())].group = GroupId{0};
    const Errors errors = verify(both);
    ASSERT_FALSE(errors.empty());
    EXPECT_NE(errors.front().what.find("is another party's"), std::string::npos)
        << errors.front().what;
}

TEST(MergedProgram, VerifierWantsPartiesOneAfterTheOther) {
    const Program small = stages(2);
    Program both = merge_programs(std::vector<ProgramToMerge>{{"a", &small}, {"b", &small}});
    both.parties[1].first_role = 1;
    const Errors errors = verify(both);
    ASSERT_FALSE(errors.empty());
    EXPECT_EQ(errors.front().what, "party b begins at rank 4 and role 1, not at rank 4 and role 2");
}

}  // namespace
}  // namespace orrery
