// SPDX-License-Identifier: Apache-2.0
#include "engine/program/verifier.h"

#include <gtest/gtest.h>

#include "tests/engine/program_builder.h"
#include "tests/engine/random_program.h"

namespace orrery {
namespace {

using namespace orrery::literals;

// The first error's words, or nothing.
std::string first_error(const Program& program) {
    const Errors errors = verify(program);
    return errors.empty() ? "" : errors.front().what;
}

void expect_error(const Program& program, const std::string& part) {
    const std::string what = first_error(program);
    EXPECT_NE(what.find(part), std::string::npos) << "got: " << what;
}

ProgramBuilder pair_of_stages() {
    return ProgramBuilder({{"dp", 2}, {"pp", 2}});
}

TEST(Verifier, AcceptsRandomWellFormedPrograms) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        EXPECT_EQ(first_error(random_case(seed, true).program), "") << "seed " << seed;
    }
}

TEST(Verifier, WantsOneRolePerCoordinate) {
    ProgramBuilder b = pair_of_stages();
    b.program.roles.pop_back();
    expect_error(b.program, "there are 1 roles, but digit pp has size 2");
}

TEST(Verifier, WantsIdsInsideTheirTables) {
    ProgramBuilder b = pair_of_stages();
    b.kernel(1_ns);
    b.program.segments[0].ops[0].payload = KernelId{1};
    expect_error(b.program, "payload lies outside its table");
    b.program.segments[0].ops[0].payload = KernelId{0};
    EXPECT_EQ(first_error(b.program), "");
    b.program.segments[0].ops[0].num_operands = 1;
    expect_error(b.program, "waits or operands lie outside");
    b.program.segments[0].ops[0].num_operands = 0;
    b.program.segments[0].ops[0].stream = StreamId{64};
    expect_error(b.program, "stream 64");
    b.program.segments[0].ops[0].stream = StreamId{0};
    b.program.roles[1].slots[0].segment = SegmentId{9};
    expect_error(b.program, "its segment does not exist");
}

TEST(Verifier, WantsWaitsToNameEarlierOps) {
    ProgramBuilder b = pair_of_stages();
    b.kernel(1_ns);
    b.kernel(1_ns, kNet, {1});
    expect_error(b.program, "not earlier");
    b.program.waits[0] = 0;
    EXPECT_EQ(first_error(b.program), "");
    b.program.roles[0].slots[0].waits.push_back({0, 0, 1});
    expect_error(b.program, "which is not earlier");
    b.program.roles[0].slots[0].waits[0].carried =
        true;  // as of the step before, they may be later
    EXPECT_EQ(first_error(b.program), "");
    b.program.roles[0].slots[0].waits[0].slot_op = 2;
    expect_error(b.program, "does not exist");
}

TEST(Verifier, WantsHostsToReadOpsThatExist) {
    ProgramBuilder b = pair_of_stages();
    b.kernel(1_ns);
    b.program.roles[0].host_reads = {{0, 0}};
    EXPECT_EQ(first_error(b.program), "");
    b.program.roles[0].host_reads = {{0, 1}};
    expect_error(b.program, "its host reads");
    b.program.roles[0].host_reads = {{1, 0}};
    expect_error(b.program, "its host reads");
}

TEST(Verifier, WantsMembersToMakeTheSameCollectives) {
    ProgramBuilder b = pair_of_stages();
    const GroupId pp = b.group("pp", 2);
    b.role(0).collective(pp, 10_B);
    b.role(1).collective(pp, 11_B);
    expect_error(b.program, "collective 0 of its members differs");
    b.program.collectives[1].bytes = 10_B;
    EXPECT_EQ(first_error(b.program), "");
    b.program.collectives[1].kind = CollectiveKind::broadcast;
    expect_error(b.program, "members differs");
    b.program.collectives[1].kind = CollectiveKind::all_reduce;
    b.role(1).collective(pp, 10_B);
    expect_error(b.program, "has no partner on role role 0");
    b.program.collectives[2].communicator = 1;
    expect_error(b.program, "has no partner on role role 0");
}

TEST(Verifier, WantsEnginesThatCanMoveTheCollective) {
    ProgramBuilder b = pair_of_stages();
    const GroupId pp = b.group("pp", 2);
    b.role(0).collective(pp, 10_B);
    b.role(1).collective(pp, 10_B);
    const auto ask = [&](CollectiveKind kind, Mover mover) {
        for (CollectiveCall& call : b.program.collectives) {
            call.kind = kind;
            call.mover = mover;
        }
    };
    const Mover copies{.engine = TransferEngine::copy_engine};
    ask(CollectiveKind::all_gather, copies);
    EXPECT_EQ(first_error(b.program), "");
    b.program.collectives[0].mover = {};
    expect_error(b.program, "members differs");
    ask(CollectiveKind::all_reduce, copies);
    expect_error(b.program, "copy engines cannot add");
    ask(CollectiveKind::all_gather, {.engine = TransferEngine::copy_engine, .sm_limit = 1});
    expect_error(b.program, "copy engines hold no SMs");
    ask(CollectiveKind::all_gather, {.engine = TransferEngine::host});
    expect_error(b.program, "the host moves only");
}

TEST(Verifier, WantsCopiesBetweenNeighbouringTiers) {
    ProgramBuilder b = pair_of_stages();
    b.role(0).copy({.from = MemoryTier::hbm, .to = MemoryTier::dram, .bytes = 10_B});
    EXPECT_EQ(first_error(b.program), "");
    const auto copy = [&](MemoryTier from, MemoryTier to) {
        b.program.copies[0] = {from, to, 1_B};
    };
    copy(MemoryTier::nvme, MemoryTier::dram);
    EXPECT_EQ(first_error(b.program), "");
    copy(MemoryTier::hbm, MemoryTier::nvme);
    expect_error(b.program, "a copy of 1 B from hbm to nvme");
    copy(MemoryTier::dram, MemoryTier::dram);
    expect_error(b.program, "a copy of 1 B from dram to dram");
    b.program.copies[0] = {.bytes = Bytes{-1}};
    expect_error(b.program, "a copy of -1 B");
    b.program.copies.clear();
    expect_error(b.program, "its payload lies outside its table");
}

TEST(Verifier, WantsCallersToBeMembers) {
    ProgramBuilder b({{"dp", 2}, {"pp", 3}});
    const GroupId ends = b.group("ends", 2, {0, 2});
    b.role(0).collective(ends, 10_B);
    b.role(2).collective(ends, 10_B);
    EXPECT_EQ(first_error(b.program), "");
    b.role(1).collective(ends, 10_B);
    expect_error(b.program, "not every rank of the role is in group ends");
    b.program.groups[0].subset = {0, 3};
    expect_error(b.program, "coordinate 3");
}

TEST(Verifier, ChecksListedGroupsByTheirRanks) {
    ProgramBuilder b = pair_of_stages();
    Group listed;
    listed.name = "survivors";
    listed.explicit_ranks = {{RankId{0}, RankId{1}}};
    b.program.groups.push_back(listed);
    b.role(0).collective(GroupId{0}, 10_B);
    EXPECT_EQ(first_error(b.program), "");
    b.program.groups[0].explicit_ranks = {{RankId{0}}};
    expect_error(b.program, "not every rank of the role");
    b.program.groups[0].explicit_ranks = {{RankId{0}, RankId{1}, RankId{2}}};
    expect_error(b.program, "has no partner");
    b.program.groups[0].explicit_ranks = {{RankId{0}, RankId{0}}};
    expect_error(b.program, "listed twice");
}

TEST(Verifier, PairsSendsWithReceives) {
    ProgramBuilder b = pair_of_stages();
    b.role(0).exchange({{true, 1, 1, -1, 10_B, 0}});
    expect_error(b.program, "nothing on role role 1 receives it");
    b.role(1).exchange({{false, 1, -1, -1, 12_B, 0}});
    expect_error(b.program, "sends 10 bytes");
    b.program.send_recvs[1].parts[0].bytes = 10_B;
    EXPECT_EQ(first_error(b.program), "");
    b.program.send_recvs[1].parts[0].communicator = 1;
    expect_error(b.program, "communicator");
    b.program.send_recvs[1].parts[0].communicator = 0;
    b.role(1).exchange({{false, 1, -1, -1, 10_B, 0}});
    expect_error(b.program, "nothing on role role 0 sends it");
}

TEST(Verifier, NamesRoleSlotAndOp) {
    ProgramBuilder b = pair_of_stages();
    b.kernel(1_ns);
    EXPECT_EQ(describe_op(b.program, RoleId{0}, 0, 0), "role role 0, slot 0 (work), op 0 (op 0)");
}

}  // namespace
}  // namespace orrery
