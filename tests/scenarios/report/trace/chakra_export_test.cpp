// SPDX-License-Identifier: Apache-2.0
// Round trips: what is written as Chakra traces and read again takes the time that it took.
#include "scenarios/report/trace/chakra_export.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "models/lowering/lowering.h"
#include "scenarios/studies/measure/predicted_run.h"
#include "scenarios/studies/replay/chakra_reader.h"
#include "scenarios/studies/replay/replay.h"
#include "tests/scenarios/each_small_scenario.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

class ChakraExport : public EachSmallScenario {};

TEST_P(ChakraExport, ReplayedTakesTheTimeOfTheStep) {
    const auto run = predict_run(scenario, "");
    ASSERT_TRUE(run) << run.error().to_string();
    const Program program = lower(scenario.model, scenario.plan);
    const TestFolder folder;
    ASSERT_TRUE(write_chakra(folder / "t", "step", program, run->ops));
    const auto step = read_chakra(folder / "t");
    ASSERT_TRUE(step) << step.error().front().to_string();
    ASSERT_EQ(step->ranks.size(), program.num_ranks());
    const auto answer = replay(*step, scenario);
    ASSERT_TRUE(answer) << answer.error().front().to_string();
    // A step alone: without launches, and without the steps before and after it, which overlap.
    EXPECT_GT(answer->step / run->answer.iteration, 0.8) << scenario.name;
    EXPECT_LT(answer->step / run->answer.iteration, 1.2) << scenario.name;
}

INSTANTIATE_TEST_SUITE_P(SmallScenarios,
                         ChakraExport,
                         ::testing::ValuesIn(named_small_scenarios()),
                         [](const auto& param) { return test_name(param.param); });

// What ASTRA-sim asks of a group's name; 0 is that of all ranks there.
TEST_P(ChakraExport, GroupsAreNumbersFromOneOnThatMeanOneGroup) {
    const Program program = lower(scenario.model, scenario.plan);
    ChakraGroups groups;
    std::map<std::string, std::set<std::uint32_t>> users;
    for (std::uint32_t rank = 0; rank < program.num_ranks(); ++rank) {
        const auto ops = parse_chakra(chakra_trace(program, RankId{rank}, {}, groups), "t");
        ASSERT_TRUE(ops) << ops.error().front().to_string();
        for (const ForeignOp& op : *ops) {
            if (!op.group.empty()) {
                users[op.group].insert(rank);
            }
        }
    }
    ASSERT_EQ(groups.size(), users.size());
    for (const auto& [name, members] : groups) {
        EXPECT_GE(std::stoi(name), 1);
        EXPECT_EQ(std::to_string(std::stoi(name)), name);
        std::set<std::uint32_t> all;
        for (const RankId member : members) {
            all.insert(static_cast<std::uint32_t>(index(member)));
        }
        EXPECT_EQ(users.at(name), all) << name;
    }
}

TEST(ChakraTrace, KeepsKernelTimesToThePicosecond) {
    const Scenario scenario = small_scenario("dp", {});
    const auto run = predict_run(scenario, "");
    ASSERT_TRUE(run);
    const Program program = lower(scenario.model, scenario.plan);
    ChakraGroups groups;
    const auto ops = parse_chakra(chakra_trace(program, RankId{3}, run->of_rank(RankId{3}), groups),
                                  "step.3.et");
    ASSERT_TRUE(ops) << ops.error().front().to_string();
    Time written;
    for (const ForeignOp& op : *ops) {
        written += op.duration;
    }
    Time simulated;
    for (const TracedOp& op : run->of_rank(RankId{3})) {
        const Role& role = program.roles[index(program.role_of(RankId{3}))];
        const Op& of = program.segment_of(role.slots[op.slot]).ops[op.op];
        simulated += of.kind() == OpKind::kernel ? op.end - op.data_start : Time{};
    }
    EXPECT_EQ(written, simulated);
}

}  // namespace
}  // namespace orrery
