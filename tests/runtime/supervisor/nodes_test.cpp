// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/nodes.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/runtime/supervisor/shell_member.h"

namespace orrery {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kPatience{5000};
constexpr Milliseconds kHeartbeat{3000};

// Listens until something is so, or for some seconds.
bool until(Nodes& nodes, std::uint32_t count, const std::function<bool()>& so) {
    const auto end = Nodes::Clock::now() + std::chrono::seconds{20};
    bool is = so();
    while (!is && Nodes::Clock::now() < end) {
        nodes.wait(Milliseconds{50});
        for (NodeNumber node = 0; node < count; ++node) {
            for (const MemberReport& report : nodes.reports(node)) {
                nodes.hear(node, report, Nodes::Clock::now());
            }
        }
        nodes.note_deaths(Nodes::Clock::now());
        is = so();
    }
    return is;
}

TEST(Nodes, TrainTogetherAndEnd) {
    const auto command = shell_member("tell training 0; tell step 1; tell done 1;");
    Nodes nodes{command, 3, kPatience};
    ASSERT_TRUE(nodes.start_all());
    nodes.assign(JobState{{.slots = 2, .units = 2}, 3});
    ASSERT_TRUE(until(nodes, 3, [&] { return nodes.all_ready(); }));
    ASSERT_TRUE(nodes.go({}));
    EXPECT_FALSE(nodes.all_ready());
    EXPECT_TRUE(until(nodes, 3, [&] { return nodes.all_done(); }));
    EXPECT_FALSE(nodes.somebody_failed(kHeartbeat, Nodes::Clock::now()));
    nodes.quit();
    EXPECT_EQ(nodes.pid(0), 0);
}

TEST(Nodes, TheDeadAreLostAndTheAccusedAreUnreachable) {
    const auto command = shell_member(
        "tell training 0; if [ $node = 1 ]; then kill -9 $$; fi; tell failed 0 3 'rank 3 is "
        "gone';");
    Nodes nodes{command, 4, kPatience};
    ASSERT_TRUE(nodes.start_all());
    nodes.assign(JobState{{.slots = 4, .units = 4}, 4});
    ASSERT_TRUE(until(nodes, 4, [&] { return nodes.all_ready(); }));
    ASSERT_TRUE(nodes.go({}));
    ASSERT_TRUE(until(nodes, 4, [&] { return nodes.pid(1) == 0; }));
    until(nodes, 4, [&] {
        return nodes.failures(kHeartbeat, Nodes::Clock::now()).unreachable.size() == 1;
    });
    const Failures failures = nodes.failures(kHeartbeat, Nodes::Clock::now());
    EXPECT_EQ(failures.lost, std::vector<NodeNumber>{1});
    EXPECT_EQ(failures.unreachable, std::vector<NodeNumber>{3});
    EXPECT_TRUE(failures.errors.empty());
    nodes.evict(1, Nodes::Clock::now());
    std::vector<NodeNumber> back;
    EXPECT_TRUE(until(nodes, 4, [&] {
        back = nodes.repaired(Nodes::Clock::now());
        return !back.empty();
    }));
    EXPECT_EQ(back, std::vector<NodeNumber>{1});
    EXPECT_TRUE(nodes.repaired(Nodes::Clock::now()).empty());
}

TEST(Nodes, TheSilentAreLost) {
    const auto command = shell_member("tell training 0; kill -STOP $$;");
    Nodes nodes{command, 1, kPatience};
    ASSERT_TRUE(nodes.start_all());
    nodes.assign(JobState{{.slots = 1}, 1});
    ASSERT_TRUE(until(nodes, 1, [&] { return nodes.all_ready(); }));
    ASSERT_TRUE(nodes.go({}));
    EXPECT_TRUE(until(
        nodes, 1, [&] { return nodes.somebody_failed(Milliseconds{300}, Nodes::Clock::now()); }));
    EXPECT_EQ(nodes.failures(Milliseconds{300}, Nodes::Clock::now()).lost,
              std::vector<NodeNumber>{0});
}

TEST(Nodes, WhoNeverGetsReadyIsGivenUp) {
    const std::vector<std::string> command{"false"};
    Nodes nodes{command, 1, kPatience};
    ASSERT_TRUE(nodes.start_all());
    nodes.assign(JobState{{.slots = 1}, 1});
    bool gave_up = false;
    EXPECT_TRUE(until(nodes, 1, [&] {
        gave_up = gave_up || !nodes.make_ready(false);
        return gave_up;
    }));
}

// For a hang: all wait for rank 2, who computes.
TEST(Nodes, TheOneWhoDoesNotWaitNeverArrived) {
    const auto command = shell_member(
        "tell training 7; if [ $rank != 2 ]; then tell beat 7 1 '9 2 a sum on dp'; fi; exec sleep "
        "100;");
    Nodes nodes{command, 3, kPatience};
    ASSERT_TRUE(nodes.start_all());
    nodes.assign(JobState{{.slots = 3, .units = 3}, 3});
    ASSERT_TRUE(until(nodes, 3, [&] { return nodes.all_ready(); }));
    ASSERT_TRUE(nodes.go({}));
    // What rank 2 said may come after what the others say.
    EXPECT_TRUE(until(nodes, 3, [&] {
        return nodes.not_waiting() == std::vector<NodeNumber>{2} &&
               nodes.where_all_are().at(2).ends_with("step 7");
    }));
    const auto lines = nodes.where_all_are();
    EXPECT_EQ(lines[0], "rank 0 (node 0) waits after step 7 in a sum on dp for rank 2");
    EXPECT_EQ(lines[2], "rank 2 (node 2) never arrived: it computes after step 7");
}

}  // namespace
}  // namespace orrery
