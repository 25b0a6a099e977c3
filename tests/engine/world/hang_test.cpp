// SPDX-License-Identifier: Apache-2.0
// Which rank waits for which when a rank of two pipeline stages is lost: its group waits for it,
// and the other stage waits for a waiting rank.
#include <gtest/gtest.h>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/toy_network.h"

namespace orrery {
namespace {

using namespace orrery::literals;

// Two stages of two ranks: 0 and 1 send to 2 and 3 after a sum between them.
SimulationOutcome run(Time lost_at, bool fold) {
    ProgramBuilder b({{"dp", 2}, {"pp", 2}});
    const GroupId pair = b.group("dp", 1);
    for (const bool first : {true, false}) {
        b.role(first ? 0 : 1);
        b.kernel(100_ns);
        if (first) {
            b.collective(pair, 1000_B, kCompute);
        }
        b.exchange({SendRecvPart{first, 1, first ? 1 : -1, -1, 1000_B, 0}}, kCompute);
    }
    ToyNetwork network({.num_ranks = 4, .ranks_per_node = 2});
    SimulationInput input = b.input(network);
    input.steps = 1;
    input.accelerations.fold(fold);
    input.devices.push_back(input.devices[0]);
    input.device_class = {1, 0, 0, 0};
    input.events.devices = {{lost_at, 1, kLostDevice}};
    FluidRates rates(network.links());
    return simulate(input, rates);
}

TEST(Hang, RootsComeBeforeThoseWhoWaitForSomebodyWhoWaits) {
    for (const bool fold : {true, false}) {
        const SimulationOutcome outcome = run(50_ns, fold);
        ASSERT_TRUE(outcome && outcome->hang);
        const Hang& hang = *outcome->hang;
        EXPECT_EQ(hang.lost, (std::vector<RankId>{RankId{0}}));
        ASSERT_EQ(hang.operations.size(), 3u);
        EXPECT_EQ(hang.since, 100_ns);
        int in_group = 0;
        for (std::size_t i = 0; i < hang.operations.size(); ++i) {
            const StuckOperation& stuck = hang.operations[i];
            EXPECT_EQ(stuck.missing.size(), 1u);
            EXPECT_EQ(stuck.waiting.size(), 1u);
            in_group += stuck.group == "dp" ? 1 : 0;
            const bool root = stuck.missing[0] == RankId{0};
            EXPECT_EQ(root, i < 2) << i;
        }
        EXPECT_EQ(in_group, 1);
    }
}

TEST(Hang, WhoIsLostAfterTheStepIsNotMissed) {
    const SimulationOutcome outcome = run(Time::seconds(1), true);
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->hang);
}

}  // namespace
}  // namespace orrery
