// SPDX-License-Identifier: Apache-2.0
#include "scenarios/simulate/program_summary.h"

#include <gtest/gtest.h>

#include "models/lowering.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(ProgramSummary, HasARepresentativeOfEachRoleAndItsMemory) {
    const Scenario scenario = small_scenario("two", {"plan.pipeline_model_parallel_size=2"});
    const Program program = lower(scenario.model, scenario.plan);
    const std::vector<RankId> ranks = role_representatives(program);
    ASSERT_EQ(ranks.size(), program.roles.size());
    EXPECT_EQ(ranks.front(), RankId{});
    const MemoryUse use = memory_use(program, scenario.device);
    EXPECT_GT(use.peak, Bytes{});
    EXPECT_EQ(use.fits, use.peak <= scenario.device.memory);
}

}  // namespace
}  // namespace orrery
