// SPDX-License-Identifier: Apache-2.0
#include "engine/program/role_unroller.h"

#include <gtest/gtest.h>

#include "engine/program/role_tape.h"
#include "tests/engine/program_builder.h"

namespace orrery {
namespace {

using namespace orrery::literals;

// A segment of two kernels, a collective and host work that waits on the second kernel.
ProgramBuilder slots_of_one_segment(std::uint32_t slots) {
    ProgramBuilder b({{"tp", 1}});
    const GroupId alone = b.group("alone", 1);
    b.kernel(1_ns);
    const std::uint32_t second = b.kernel(1_ns);
    b.collective(alone, 1_B, kNet);
    b.host(1_ns, kOther, {second});
    b.program.segments[0].ops[1].launches = 3;
    b.program.roles[0].slots.resize(slots, b.program.roles[0].slots[0]);
    return b;
}

TEST(RoleUnroller, SlotsRepeatASegmentAtOtherPlaces) {
    const ProgramBuilder b = slots_of_one_segment(3);
    RoleUnroller step(b.program, false);
    step.unroll(b.program.roles[0]);
    EXPECT_EQ(step.num_ops, 12u);
    EXPECT_EQ(step.num_launches, 18);
    EXPECT_EQ(step.ops_on, (std::vector<std::uint32_t>{6, 3, 3}));
    const FlatOp last = step.flat_op(2, 1);
    EXPECT_EQ(last.flat, 9u);
    EXPECT_EQ(last.ordinal, 5u);
    EXPECT_EQ(step.launches_to({2, 1}), 16);
    EXPECT_TRUE(step.watched[9]);
    EXPECT_FALSE(step.watched[8]);
    ASSERT_EQ(step.waiting.size(), 3u);
    EXPECT_EQ(step.waiting[2].flat, 11u);
    EXPECT_EQ(step.waits[step.waiting[2].first_wait].flat, 9u);
    EXPECT_EQ(step.host_reads[kCompute].flat, 9u);
    EXPECT_FALSE(step.overlaps_steps);
}

TEST(RoleUnroller, WaitsOfASlotReachOtherSlots) {
    ProgramBuilder b = slots_of_one_segment(2);
    b.program.roles[0].slots[1].waits = {{.op = 0, .slot = 0, .slot_op = 2}};
    RoleUnroller step(b.program, false);
    step.unroll(b.program.roles[0]);
    ASSERT_EQ(step.waiting.size(), 3u);
    EXPECT_EQ(step.waiting[1].flat, 4u);
    EXPECT_EQ(step.waits[step.waiting[1].first_wait].flat, 2u);
    EXPECT_TRUE(step.watched[2]);
    EXPECT_FALSE(step.watched[6]);
}

// The first run of a segment may be longer in the step's first slot than in later ones, and runs
// across slots have the launches of both.
TEST(RoleUnroller, RunsOfRepeatedSlotsKeepTheirOwnShapes) {
    ProgramBuilder b({{"tp", 1}});
    b.kernel(1_ns);
    const std::uint32_t second = b.kernel(1_ns);
    b.host(1_ns, kOther, {second});
    b.kernel(1_ns);
    Role& role = b.program.roles[0];
    role.slots.resize(3, role.slots[0]);
    role.slots[2].waits = {{.op = 0, .slot = 1, .slot_op = 2}, {.op = 1, .slot = 1, .slot_op = 2}};
    const Tapes tapes = build_tapes(b.program, 2_ns);
    const std::vector<TapeItem>& items = tapes.roles[0].streams[kCompute].items;
    // kernels 0 1 | 3 0 1 | 3, cut before the slot that waits | 0 1 | 3
    ASSERT_EQ(items.size(), 5u);
    EXPECT_EQ(items[1].num_ops, 3u);
    EXPECT_EQ(items[0].shape, items[3].shape);
    EXPECT_EQ(items[2].shape, items[4].shape);
    EXPECT_NE(items[0].shape, items[1].shape);
    const RunShape& across = tapes.shapes[items[1].shape];
    EXPECT_EQ(across[1].launch, 2_ns);
    EXPECT_EQ(across[2].launch, 4_ns);
    EXPECT_EQ(items[3].launch, 18_ns);
}

TEST(RoleUnroller, EachSlotUsesItsConnectionsAgain) {
    const ProgramBuilder b = slots_of_one_segment(3);
    const RoleTape tape = build_tapes(b.program, Time{}).roles[0];
    ASSERT_EQ(tape.connections.size(), 1u);
    EXPECT_EQ(tape.connections[0].uses, (std::vector<std::uint32_t>{3}));
    EXPECT_EQ(tape.connections[0].messages_per_step, 3u);
    ASSERT_EQ(tape.parts.size(), 3u);
    EXPECT_EQ(tape.parts[2].sequence, 2u);
    EXPECT_EQ(tape.streams[kNet].items[2].first_part, 2u);
    EXPECT_EQ(tape.streams[kNet].items[2].num_parts, 1u);
}

}  // namespace
}  // namespace orrery
