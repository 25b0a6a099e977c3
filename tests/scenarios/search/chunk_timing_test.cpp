// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/chunk_timing.h"

#include <gtest/gtest.h>

#include "tests/scenarios/search/timed_plans.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

tl::expected<ChunkTiming, std::string_view> middle_chunk(const std::vector<std::string>& settings) {
    std::vector<std::string> all = settings;
    all.emplace_back("plan.pipeline_model_parallel_size=2");
    const Scenario scenario = small_scenario("chunk", all);
    const testing::TimedPlans timed{scenario};
    const LayoutAssignment layouts = assign_layouts(scenario.plan);
    StagePrices prices{timed.costs->network(), layouts.mesh};
    return time_chunk(
        scenario.model,
        scenario.plan,
        layouts,
        {.stage = 1, .first_layer = 4, .num_layers = 3},
        [&](const Program& program) { return timed.costs->slowest_device(program); },
        prices);
}

TEST(ChunkTiming, SendsWhatItsLastOpsMake) {
    const auto chunk = middle_chunk({});
    ASSERT_TRUE(chunk) << chunk.error();
    EXPECT_EQ(chunk->sends_forward.pass, ChunkPass::forward);
    EXPECT_EQ(chunk->sends_forward.op, chunk->pass(ChunkPass::forward).timing.size() - 1);
    EXPECT_EQ(chunk->sends_backward.pass, ChunkPass::backward);
    EXPECT_TRUE(chunk->pass(ChunkPass::forward).waits_for_message);
    // A micro-batch of 2 times 1,024 tokens of 1,024 numbers of 2 bytes.
    EXPECT_EQ(chunk->message.count(), 2 * 1024 * 1024 * 2);
}

TEST(ChunkTiming, AGatherOfWhatArrivesStartsBeforeThePass) {
    const auto chunk =
        middle_chunk({"plan.tensor_model_parallel_size=2", "plan.sequence_parallel=true"});
    ASSERT_TRUE(chunk) << chunk.error();
    const ChunkPassTiming& backward = chunk->pass(ChunkPass::backward);
    EXPECT_TRUE(backward.starts_early);
    ASSERT_FALSE(backward.early.empty());
    EXPECT_TRUE(backward.early[0].after_message);
    EXPECT_FALSE(chunk->pass(ChunkPass::forward).starts_early);
}

TEST(ChunkTiming, RefusesParametersThatAreGatheredLayerByLayer) {
    const auto chunk = middle_chunk({"plan.data_parallel_sharding_strategy=optim_grads_params"});
    ASSERT_FALSE(chunk);
    EXPECT_EQ(chunk.error(), "parameters are gathered layer by layer");
}

}  // namespace
}  // namespace orrery
