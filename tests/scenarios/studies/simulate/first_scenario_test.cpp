// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/first_scenario.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/simulate/program_summary.h"

namespace orrery {
namespace {

// The scenario; it fits.
Scenario fitting(const FirstScenario& wanted) {
    const auto text = first_scenario(wanted);
    EXPECT_TRUE(text) << text.error().front().to_string();
    auto scenario = read_scenario_text(text.value_or(""), "first.yaml", "");
    EXPECT_TRUE(scenario) << *text;
    const Program program = lower(scenario->model, scenario->plan);
    EXPECT_TRUE(memory_use(program, memory_of_roles(program, *scenario)).fits) << *text;
    return std::move(*scenario);
}

TEST(FirstScenario, FitsWithAsFewRanksToAReplicaAsItCan) {
    const Scenario small = fitting({.model = "gpt-2-124m", .node = "dgx-h100"});
    EXPECT_EQ(small.plan.model_parallel_size(), 1);
    const Scenario large = fitting({.model = "llama-3-70b", .node = "dgx-h100", .nodes = 16});
    EXPECT_GT(large.plan.model_parallel_size(), 1);
    const std::int64_t replicas = 128 / large.plan.model_parallel_size();
    EXPECT_EQ(large.plan.global_batch_size, 16 * replicas);
    // Half the ranks do not fit.
    const std::int64_t half = large.plan.model_parallel_size() / 2;
    const auto less = first_scenario({.model = "llama-3-70b",
                                      .node = "dgx-h100",
                                      .nodes = 16,
                                      .tensor = static_cast<std::uint32_t>(half),
                                      .pipeline = 1});
    if (less) {
        EXPECT_NE(less->find("recompute_granularity"), std::string::npos) << *less;
    }
}

TEST(FirstScenario, ExpertsAreSharedByRanks) {
    const Scenario mixtral = fitting({.model = "mixtral-8x7b", .node = "dgx-h100", .nodes = 4});
    EXPECT_GT(mixtral.plan.expert_model_parallel_size, 1);
}

TEST(FirstScenario, IfNoPlanFitsTheHintSaysHowManyServersDo) {
    const auto none = first_scenario({.model = "llama-3-405b", .node = "dgx-h100"});
    ASSERT_FALSE(none);
    const std::string error = none.error().front().to_string();
    EXPECT_NE(error.find("no plan of llama-3-405b fits on 1 x dgx-h100"), std::string::npos)
        << error;
    const std::size_t at = error.find("--nodes ");
    ASSERT_NE(at, std::string::npos) << error;
    fitting({.model = "llama-3-405b",
             .node = "dgx-h100",
             .nodes = static_cast<std::uint32_t>(std::stoi(error.substr(at + 8)))});
}

}  // namespace
}  // namespace orrery
