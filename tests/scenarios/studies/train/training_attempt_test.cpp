// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/train/training_attempt.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "scenarios/studies/train/training_run.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

// A supervisor's pipes, in this process. What attempts do is tested with the whole program
// (tests/program/supervised_training_test.cpp).
TEST(TrainingAttempt, AScenarioThatCannotBeReadIsReportedAsAFailure) {
    int orders[2];
    int reports[2];
    ASSERT_EQ(pipe(orders), 0);
    ASSERT_EQ(pipe(reports), 0);
    const std::string pipes = std::to_string(orders[0]) + "," + std::to_string(reports[1]);
    setenv(kMemberVariable, pipes.c_str(), 1);
    setenv(kNodeVariable, "0", 1);
    {
        const auto member = Member::join();
        ASSERT_TRUE(member) << member.error().to_string();
        const Scenario scenario = small_scenario("s", {});
        const MemberSpec spec{.file = "no such file.yaml",
                              .line = [](const std::string&) {},
                              .note = [](const std::string&) {}};
        carry_out(**member,
                  scenario,
                  Tokens::of(std::vector<std::uint16_t>{1, 2, 3}, 4),
                  Order{.kind = OrderKind::go, .num_ranks = 1},
                  spec);
    }
    unsetenv(kMemberVariable);
    unsetenv(kNodeVariable);
    fcntl(reports[0], F_SETFL, O_NONBLOCK);
    std::string told(1 << 16, '\0');
    const ssize_t size = read(reports[0], told.data(), told.size());
    ASSERT_GT(size, 0);
    told.resize(static_cast<std::size_t>(size));
    EXPECT_NE(told.find("no such file.yaml"), std::string::npos) << told;
}

}  // namespace
}  // namespace orrery
