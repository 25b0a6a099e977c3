// SPDX-License-Identifier: Apache-2.0
#include "engine/world/deadlock.h"

#include <gtest/gtest.h>

#include "tests/engine/small_runs.h"

namespace orrery {
namespace deadlock_test {

using namespace small_runs;

TEST(Deadlock, SaysWhoWaitsOnWhomInADeadlock) {
    ProgramBuilder b({{"dp", 2}, {"pp", 2}});
    const GroupId dp = b.group("dp", 1);
    const SendRecvPart to_next{true, 1, 1, -1, 10_B, 0};
    const SendRecvPart from_next{false, 1, 1, -1, 10_B, 1};
    const SendRecvPart to_last{true, 1, -1, -1, 10_B, 1};
    const SendRecvPart from_last{false, 1, -1, -1, 10_B, 0};
    b.role(0).collective(dp, 10_B);
    b.exchange({from_next});
    b.exchange({to_next});
    b.role(1).exchange({from_last});
    b.exchange({to_last});
    ScriptedNetwork network({kBytePerNanosecond});
    for (const auto& [from, to] : {std::pair{0u, 2u}, {2u, 0u}, {1u, 3u}, {3u, 1u}}) {
        network.sends[{RankId{from}, RankId{to}}] = plan_over({0}, {});
    }
    network.collective = plan_over({0}, 10_B);
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    const SimulationOutcome outcome = simulate(input, rates);
    ASSERT_FALSE(outcome.has_value());
    const std::string what = outcome.error().what;
    EXPECT_NE(what.find("deadlock"), std::string::npos) << what;
    EXPECT_NE(what.find("rank 0 in step 0: role role 0, slot 0 (work), op 1"), std::string::npos)
        << what;
    EXPECT_NE(what.find("rank 2 in step 0: role role 1, slot 0 (work), op 0"), std::string::npos)
        << what;
}

// Each rank of the ring receives before it sends.
TEST(Deadlock, ALongDeadlockIsToldInAFewOfItsRanks) {
    constexpr int kRanks = 24;
    ProgramBuilder b({{"pp", kRanks}});
    ScriptedNetwork network({kBytePerNanosecond});
    for (int r = 0; r < kRanks; ++r) {
        const int next = (r + 1) % kRanks;
        const int last = (r + kRanks - 1) % kRanks;
        b.role(static_cast<std::uint32_t>(r)).exchange({{false, 0, next - r, -1, 10_B, 0}});
        b.exchange({{true, 0, last - r, -1, 10_B, 0}});
        network.sends[{to_id<RankId>(static_cast<std::uint32_t>(r)),
                       to_id<RankId>(static_cast<std::uint32_t>(last))}] = plan_over({0}, {});
    }
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    const SimulationOutcome outcome = simulate(input, rates);
    ASSERT_FALSE(outcome.has_value());
    const std::string what = outcome.error().what;
    EXPECT_NE(what.find("more in turn"), std::string::npos) << what;
    EXPECT_LT(what.size(), 900u) << what;
}

TEST(Deadlock, NothingLeavesOverADeadLink) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20)});
    b.role(1).exchange({receive(20)});
    ScriptedNetwork network = two_ranks();
    network.link_table[0].capacity = Bandwidth{};
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    const SimulationOutcome outcome = simulate(input, rates);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_NE(outcome.error().what.find("no bandwidth"), std::string::npos);
}

}  // namespace deadlock_test
}  // namespace orrery
