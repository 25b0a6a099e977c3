// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/random_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/reference/reference_executor.h"

namespace orrery::reference {
namespace {

TEST(RandomProgram, EndsWhateverTheSeedAndTheSize) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const RandomCase random =
            random_case({.seed = seed, .num_ranks = seed % 3 == 0 ? 32u : 8u});
        const SimulationOutcome outcome = reference_simulate(random.input(false, true));
        ASSERT_TRUE(outcome.has_value()) << random.describe() << outcome.error().to_string();
        EXPECT_GT(outcome->iteration, Time{}) << random.describe();
        EXPECT_EQ(outcome->trace.size(), static_cast<std::size_t>(outcome->simulated_ops));
    }
}

TEST(RandomProgram, IsTheSameForTheSameSeed) {
    const RandomCase once = random_case({.seed = 5});
    const RandomCase again = random_case({.seed = 5});
    const RandomCase other = random_case({.seed = 6});
    const auto iteration = [](const RandomCase& random) {
        return reference_simulate(random.input(false, false))->iteration;
    };
    EXPECT_EQ(iteration(once), iteration(again));
    EXPECT_NE(iteration(once), iteration(other));
}

// Does an op of a rank start before another one of its step before has ended?
bool steps_overlap(const std::vector<TracedOp>& trace) {
    std::map<std::pair<RankId, std::uint32_t>, Time> ends;
    for (const TracedOp& op : trace) {
        Time& end = ends[{op.rank, op.step}];
        end = std::max(end, op.end);
    }
    return std::ranges::any_of(trace, [&](const TracedOp& op) {
        return op.step > 0 && op.start < ends[{op.rank, op.step - 1}];
    });
}

// What a judge does not try it does not judge.
TEST(RandomProgram, ReachesEveryKindOfOpAndWait) {
    std::set<OpKind> kinds;
    bool across_slots = false;
    bool launch_bound = false;
    bool several_parts = false;
    bool uneven = false;
    bool slow = false;
    bool late_member = false;
    int overlaps = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const RandomCase random = random_case({.seed = seed});
        for (const Segment& segment : random.program.segments) {
            for (const Op& op : segment.ops) {
                kinds.insert(op.kind());
            }
        }
        for (const Role& role : random.program.roles) {
            uneven |= role.slots.size() != random.program.roles[0].slots.size();
            for (const Slot& slot : role.slots) {
                for (const SlotWait& wait : slot.waits) {
                    across_slots |= &role.slots[wait.slot] < &slot;
                }
            }
        }
        for (const SendRecvCall& call : random.program.send_recvs) {
            several_parts |= call.parts.size() > 1;
        }
        slow |= !random.device_class.empty();
        launch_bound |= random.launch_cost > Time{};
        const SimulationOutcome outcome = reference_simulate(random.input(false, true));
        for (const TracedOp& op : outcome->trace) {
            late_member |= op.data_start > op.start;
        }
        overlaps += steps_overlap(outcome->trace) ? 1 : 0;
    }
    EXPECT_EQ(kinds.size(), 5u);
    EXPECT_TRUE(across_slots);
    EXPECT_TRUE(launch_bound);
    EXPECT_TRUE(several_parts);
    EXPECT_TRUE(uneven);
    EXPECT_TRUE(slow);
    EXPECT_TRUE(late_member);
    EXPECT_GT(overlaps, 3);
}

}  // namespace
}  // namespace orrery::reference
