// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/places.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "runtime/supervisor/member_process.h"
#include "tests/runtime/supervisor/shell_member.h"

namespace orrery {
namespace {

using Words = std::vector<std::string>;

TEST(Places, MachinesHaveAsManyNodesAsTheyAreGiven) {
    const auto places = read_places("one:2,two", "ssh -p 22 {host}", 3);
    ASSERT_TRUE(places) << places.error().to_string();
    EXPECT_FALSE(places->here());
    EXPECT_EQ(
        places->of_node,
        (std::vector<Words>{
            {"ssh", "-p", "22", "one"}, {"ssh", "-p", "22", "one"}, {"ssh", "-p", "22", "two"}}));
    EXPECT_FALSE(places->address.empty());
    EXPECT_TRUE(read_places("", "ssh {host}", 3)->here());
}

TEST(Places, WhatIsNoListOfMachinesIsRefused) {
    for (const char* hosts :
         {":2", "one:0", "one:x", "one:1e3", "one,,two", "one:99999999999", "-o"}) {
        const auto places = read_places(hosts, "ssh {host}", 2);
        ASSERT_FALSE(places) << hosts;
        EXPECT_EQ(places.error().where, "--hosts");
    }
    EXPECT_EQ(read_places("one:2", "ssh {host}", 3).error().what,
              "one:2 have 2 nodes, and the job has 3, hot spares included");
    EXPECT_EQ(read_places("one", "ssh one", 1).error().where, "--launch");
}

// A shell that runs the command stands for ssh; words may have blanks and quotes.
TEST(Places, AMemberElsewhereTalksThroughItsInputAndOutput) {
    Words command = shell_member("echo printed; tell training 5 $rank \"$0\";");
    command.emplace_back("it's a 'word'");
    const auto member = MemberProcess::start(command, 3, {"sh", "-c"});
    ASSERT_TRUE(member);
    (*member)->send({.kind = OrderKind::go, .generation = 4, .rank = 2});
    std::vector<MemberReport> all;
    for (int turn = 0; turn < 100 && all.size() < 3; ++turn) {
        pollfd waiting{.fd = (*member)->descriptor(), .events = POLLIN, .revents = 0};
        poll(&waiting, 1, 100);
        for (MemberReport& report : (*member)->reports()) {
            all.push_back(std::move(report));
        }
    }
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].kind, ReportKind::ready);
    EXPECT_EQ(all[1].kind, ReportKind::training);
    EXPECT_EQ(all[1].number, 2);
    EXPECT_EQ(all[1].text, "it's a 'word'");
}

}  // namespace
}  // namespace orrery
