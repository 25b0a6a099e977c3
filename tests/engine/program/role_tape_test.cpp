// SPDX-License-Identifier: Apache-2.0
#include "engine/program/role_tape.h"

#include <gtest/gtest.h>

#include "tests/engine/program_builder.h"

namespace orrery {
namespace {

using namespace orrery::literals;

TEST(RoleTape, CutsRunsWhereAnotherStreamWaits) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(1_ns);
    const std::uint32_t watched = b.kernel(1_ns);
    b.kernel(1_ns);
    b.kernel(1_ns);
    b.host(1_ns, kOther, {watched});
    const Tapes tapes = build_tapes(b.program, 2_ns);
    const std::vector<TapeItem>& items = tapes.roles[0].streams[kCompute].items;
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0].num_ops, 2u);
    EXPECT_TRUE(items[0].watched);
    EXPECT_EQ(items[1].launch, 6_ns);
    EXPECT_FALSE(items[1].watched);
    const ItemCondition wait = tapes.roles[0].conditions.at(0);
    EXPECT_EQ(wait.stream, kCompute);
    EXPECT_EQ(wait.items, 1u);
}

// A restart with operands holds the host: its run ends there, and other streams go on behind it.
TEST(RoleTape, LaterOpsWaitForWhatHoldsTheHost) {
    ProgramBuilder b({{"r", 1}});
    b.program.tensors.push_back({.name = "read", .global_shape = {1}, .bytes = 4_B});
    b.program.operands.push_back({.tensor = TensorId{0}});
    b.program.host_works.push_back({.kind = HostWorkKind::restart});
    b.kernel(1_ns);
    b.host(1_ns, kOther);
    const std::uint32_t read = b.host(1_ns, kCompute);
    Op& op = b.program.segments[0].ops[read];
    op.payload = HostWorkId{0};
    op.num_operands = 1;
    b.kernel(1_ns);
    b.host(1_ns, kOther);
    const Tapes tapes = build_tapes(b.program, 2_ns);
    const RoleTape& tape = tapes.roles[0];
    ASSERT_EQ(tape.streams[kCompute].items.size(), 2u);
    EXPECT_TRUE(tape.streams[kCompute].items[0].holds_host);
    EXPECT_FALSE(tape.streams[kCompute].items[1].holds_host);
    ASSERT_EQ(tape.streams[kOther].items.size(), 2u);
    EXPECT_EQ(tape.streams[kOther].items[0].num_waits, 0u);
    ASSERT_EQ(tape.streams[kOther].items[1].num_waits, 1u);
    EXPECT_EQ(tape.conditions.at(tape.streams[kOther].items[1].first_wait).items, 1u);
}

TEST(RoleTape, DropsWaitsThatAnEarlierWaitImplies) {
    ProgramBuilder b({{"r", 1}});
    const std::uint32_t first = b.kernel(1_ns);
    const std::uint32_t second = b.kernel(1_ns);
    const std::uint32_t own = b.host(1_ns, kOther, {first, second});
    b.host(1_ns, kOther, {first, second, own});
    const Tapes tapes = build_tapes(b.program, Time{});
    EXPECT_EQ(tapes.roles[0].conditions.size(), 1u);
    EXPECT_EQ(tapes.roles[0].streams[kOther].items.size(), 1u);
}

TEST(RoleTape, CarriedWaitsAreOnItemsOfTheStepBefore) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(1_ns);
    b.kernel(1_ns);
    b.kernel(1_ns);
    b.host(1_ns, kOther, {1});
    b.host(1_ns, kOther);
    b.program.roles[0].host_reads = {{0, 1}};
    std::vector<SlotWait>& waits = b.program.roles[0].slots[0].waits;
    waits = {{1, 0, 3, true}, {2, 0, 3, true}, {3, 0, 0, true}};
    const Tapes tapes = build_tapes(b.program, 2_ns);
    const RoleTape& tape = tapes.roles[0];
    EXPECT_TRUE(tape.overlaps_steps);
    EXPECT_EQ(tape.last_launch, 10_ns);
    // Op 0 | op 1, which waits and which the host reads | op 2; what implies op 0 is left out.
    const TapeStream& compute = tape.streams[kCompute];
    ASSERT_EQ(compute.items.size(), 3u);
    EXPECT_EQ(compute.host_items, 2u);
    EXPECT_EQ(tape.streams[kOther].host_items, 0u);
    ASSERT_EQ(compute.items[1].num_waits, 1u);
    const ItemCondition carried = tape.conditions.at(compute.items[1].first_wait);
    EXPECT_TRUE(carried.carried);
    EXPECT_EQ(carried.stream, kOther);
    EXPECT_EQ(carried.items, 1u);
    EXPECT_EQ(compute.items[2].num_waits, 0u);
    EXPECT_EQ(tape.conditions.size(), 2u);
}

TEST(RoleTape, IfTheHostWaitsForAllNothingIsCarried) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(1_ns);
    b.host(1_ns, kOther);
    b.program.roles[0].slots[0].waits = {{0, 0, 1, true}};
    const RoleTape tape = build_tapes(b.program, 2_ns).roles[0];
    EXPECT_FALSE(tape.overlaps_steps);
    EXPECT_TRUE(tape.conditions.empty());
    EXPECT_EQ(tape.streams[kOther].host_items, 1u);
}

TEST(RoleTape, EqualRunsShareAShape) {
    ProgramBuilder b({{"r", 1}});
    const GroupId none = b.group("alone", 1);
    b.kernel(1_ns);
    b.collective(none, 1_B, kCompute);
    b.kernel(1_ns);
    b.program.segments[0].ops[2].payload = KernelId{0};
    const Tapes tapes = build_tapes(b.program, 3_ns);
    const std::vector<TapeItem>& items = tapes.roles[0].streams[kCompute].items;
    ASSERT_EQ(items.size(), 3u);
    EXPECT_EQ(items[0].shape, items[2].shape);
    EXPECT_EQ(tapes.shapes.size(), 1u);
}

TEST(RoleTape, InProgramOrderOnlyMessagesThatAreSentStayBesideTheOthers) {
    ProgramBuilder b({{"tp", 2}});
    const GroupId tp = b.group("tp", 1);
    b.kernel(1_ns);
    b.collective(tp, 1_B, kNet);
    b.exchange({{.is_send = true, .delta = 1, .bytes = 1_B}}, kOther);
    b.exchange({{.is_send = true, .delta = 1, .bytes = 1_B},
                {.is_send = false, .delta = -1, .bytes = 1_B}},
               kOther);
    b.kernel(1_ns, kNet);
    const auto ops_of = [&](bool in_program_order, std::uint8_t stream) {
        const Tapes tapes = build_tapes(b.program, Time{}, in_program_order);
        std::vector<std::uint32_t> ops;
        for (const SlotOp& op : tapes.roles[0].streams[stream].ops) {
            ops.push_back(op.op);
        }
        return ops;
    };
    EXPECT_EQ(ops_of(false, kNet), (std::vector<std::uint32_t>{1, 4}));
    EXPECT_EQ(ops_of(true, kCompute), (std::vector<std::uint32_t>{0, 1, 3, 4}));
    EXPECT_EQ(ops_of(true, kOther), (std::vector<std::uint32_t>{2}));
}

}  // namespace
}  // namespace orrery
