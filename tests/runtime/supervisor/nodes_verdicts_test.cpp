// SPDX-License-Identifier: Apache-2.0
// What is concluded from the reports of members of shell.
#include <gtest/gtest.h>

#include "runtime/supervisor/nodes.h"
#include "tests/runtime/supervisor/shell_member.h"

namespace orrery {
namespace {

CheckVerdict verdict_of(const std::string& on_check) {
    const auto command = shell_member("", on_check);
    Nodes nodes{command, 3, std::chrono::seconds{10}};
    EXPECT_TRUE(nodes.start_all());
    nodes.assign(JobState{{.slots = 3, .units = 3}, 3});
    const auto hear_until = [&](auto so) {
        const auto deadline = Nodes::Clock::now() + std::chrono::seconds{10};
        while (!so() && Nodes::Clock::now() < deadline) {
            nodes.wait(std::chrono::milliseconds{20});
            for (NodeNumber node = 0; node < 3; ++node) {
                for (const MemberReport& report : nodes.reports(node)) {
                    nodes.hear(node, report, Nodes::Clock::now());
                }
            }
            nodes.note_deaths(Nodes::Clock::now());
        }
    };
    hear_until([&] { return nodes.all_ready(); });
    EXPECT_TRUE(nodes.go({.kind = OrderKind::check}));
    hear_until([&] { return nodes.all_checked(); });
    return nodes.verdict(std::chrono::seconds{30}, Nodes::Clock::now());
}

TEST(Verdict, WhoDiedHasFailedAndOthersAreNotAccused) {
    const CheckVerdict verdict =
        verdict_of("if [ $node = 1 ]; then kill -9 $$; fi; tell failed 0 2 'rank 2 is gone';");
    EXPECT_EQ(verdict.failed, std::vector<NodeNumber>{1});
    EXPECT_TRUE(verdict.slow.empty());
}

TEST(Verdict, WhoIsFarFromTheMedianIsSlow) {
    const CheckVerdict verdict = verdict_of("tell checked 0 0 '2 it is slow;0 its memory;2 too;';");
    EXPECT_TRUE(verdict.failed.empty());
    EXPECT_EQ(verdict.slow, (std::vector<NodeNumber>{0, 2}));
    EXPECT_EQ(verdict.lines.size(), 3u);
}

TEST(Verdict, NobodyIsAccusedWhereAllIsWell) {
    const CheckVerdict verdict = verdict_of("tell checked;");
    EXPECT_TRUE(verdict.failed.empty() && verdict.slow.empty() && verdict.lines.empty());
}

}  // namespace
}  // namespace orrery
