// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/program_summary.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "runtime/rank_program.h"
#include "tests/models/drawn_plans.h"
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

// What a simulation prints is what the real executor allocates, to the byte.
TEST(ProgramSummary, MemoryIsTheArenaOfTheRuntime) {
    constexpr Bytes kWorkspaceOfLibraries{32 << 20};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        std::int64_t arena = 0;
        for (const RankId rank : role_representatives(program)) {
            arena = std::max(arena, RankProgram{program, rank}.plan().bytes());
        }
        const MemoryUse use = memory_use(program, DeviceSpec{});
        EXPECT_EQ(use.peak, Bytes{arena} + kWorkspaceOfLibraries) << d.text();
        Bytes in_use;
        for (const Bytes of_kind : use.of) {
            in_use += of_kind;
        }
        EXPECT_EQ(use.in_use, in_use) << d.text();
    }
}

}  // namespace
}  // namespace orrery
