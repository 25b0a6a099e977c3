// SPDX-License-Identifier: Apache-2.0
#include "engine/program/program.h"

#include <gtest/gtest.h>

#include "tests/engine/program_builder.h"

namespace orrery {
namespace {

TEST(Program, AnOpNamesAnEntryOfTheTableOfItsKind) {
    const Payload collective = CollectiveId{7};
    EXPECT_EQ(collective.kind(), OpKind::collective);
    EXPECT_EQ(collective.collective(), CollectiveId{7});
    EXPECT_EQ(collective.number(), 7U);
    EXPECT_NE(collective, Payload{KernelId{7}});
    EXPECT_EQ((Payload{OpKind::host, 2}), Payload{HostWorkId{2}});
    EXPECT_EQ(Op{}.kind(), OpKind::kernel);
}

TEST(ProgramDeathTest, AnotherKindsNumberIsNone) {
    const Payload message = SendRecvId{0};
    EXPECT_DEATH(message.kernel(), "kind_ == kind");
    EXPECT_DEATH(message.host_work(), "kind_ == kind");
}

TEST(Program, FindsWhatAnOpDoes) {
    ProgramBuilder b{{{"pp", 2}}};
    const GroupId all = b.group("all", 1);
    b.kernel(Time{});
    b.collective(all, Bytes{8});
    b.exchange({{.bytes = Bytes{4}}});
    b.host(Time::picoseconds(3));
    b.role(1).exchange({{.is_send = false, .delta = -1, .bytes = Bytes{4}}});
    const Program& p = b.program;
    const std::vector<Op>& ops = p.segments[0].ops;
    EXPECT_EQ(&p.kernel(ops[0]), p.kernels.data());
    EXPECT_EQ(p.collective(ops[1]).bytes, Bytes{8});
    EXPECT_EQ(p.send_recv(ops[2]).parts.front().bytes, Bytes{4});
    EXPECT_EQ(p.host_work(ops[3]).duration, Time::picoseconds(3));
    EXPECT_TRUE(only_sends(p, ops[2]));
    EXPECT_FALSE(only_sends(p, p.segments[1].ops[0]));
    EXPECT_FALSE(only_sends(p, ops[0]));
    EXPECT_EQ(num_ops(p), 5);
}

}  // namespace
}  // namespace orrery
