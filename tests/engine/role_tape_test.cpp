// SPDX-License-Identifier: Apache-2.0
#include "engine/role_tape.h"

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
    EXPECT_TRUE(items[0].leads_to_collective);
    EXPECT_FALSE(items[2].leads_to_collective);
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
        for (const TapeOp& op : tapes.roles[0].streams[stream].ops) {
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
