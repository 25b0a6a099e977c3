// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/member_process.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/runtime/supervisor/shell_member.h"

namespace orrery {
namespace {

std::vector<MemberReport> next_reports(MemberProcess& member, std::size_t least) {
    std::vector<MemberReport> all;
    for (int turn = 0; turn < 100 && all.size() < least; ++turn) {
        pollfd waiting{.fd = member.descriptor(), .events = POLLIN, .revents = 0};
        poll(&waiting, 1, 100);
        for (MemberReport& report : member.reports()) {
            all.push_back(std::move(report));
        }
    }
    return all;
}

std::optional<int> end_of(MemberProcess& member) {
    for (int turn = 0; turn < 100 && !member.ended(); ++turn) {
        poll(nullptr, 0, 50);
    }
    return member.ended();
}

TEST(MemberProcess, ObeysAndReports) {
    auto member = MemberProcess::start(shell_member("tell training 5 $rank hello;"), 2);
    ASSERT_TRUE(member);
    EXPECT_EQ(next_reports(**member, 1).front().kind, ReportKind::ready);
    (*member)->send({.kind = OrderKind::go, .generation = 4, .rank = 3});
    const auto reports = next_reports(**member, 2);
    EXPECT_EQ(reports[0],
              (MemberReport{.kind = ReportKind::training,
                            .generation = 4,
                            .step = 5,
                            .number = 3,
                            .text = "hello"}));
    EXPECT_FALSE((*member)->ended());
    (*member)->send({.kind = OrderKind::quit});
    EXPECT_EQ(end_of(**member), 0);
}

TEST(MemberProcess, WhatItSaidLastIsHeardAfterItsDeath) {
    auto member = MemberProcess::start(shell_member("tell fault 7 1 bye; kill -9 $$;"), 0);
    ASSERT_TRUE(member);
    (*member)->send({.kind = OrderKind::go, .generation = 1});
    EXPECT_EQ(end_of(**member), 128 + 9);
    const auto reports = (*member)->reports();
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_EQ(reports[1].text, "bye");
}

TEST(MemberProcess, IsKilledWithItsObject) {
    pid_t pid = 0;
    {
        auto member = MemberProcess::start({"sleep", "100"}, 0);
        ASSERT_TRUE(member);
        pid = (*member)->pid();
        EXPECT_EQ(kill(pid, 0), 0);
    }
    EXPECT_NE(kill(pid, 0), 0);
}

TEST(MemberProcess, AProgramThatIsNotThereEndsAtOnce) {
    auto member = MemberProcess::start({"/no/such/program"}, 0);
    ASSERT_TRUE(member);
    EXPECT_EQ(end_of(**member), 127);
}

}  // namespace
}  // namespace orrery
