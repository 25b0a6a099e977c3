// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/lowered_chunk.h"

#include <gtest/gtest.h>

#include <set>

#include "models/plan/rank_mesh.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/scenarios/studies/search/timed_plans.h"

namespace orrery {
namespace {

// The timing of the middle of three chunks, lowered for the passes of `of`, for the plan
// `settings`.
class MiddleChunk {
public:
    explicit MiddleChunk(const std::vector<std::string>& of)
        : scenario_(scenario_of(of)),
          timed_(scenario_),
          lowered_(scenario_.model,
                   plan_of_passes(scenario_.plan),
                   {.stage = 1, .first_layer = 4, .num_layers = 3},
                   [&](const Program& program) { return timed_.costs->slowest_device(program); }) {}

    tl::expected<ChunkTiming, std::string_view> time(const std::vector<std::string>& settings) {
        const ParallelPlan plan = scenario_of(settings).plan;
        const LayoutAssignment layouts =
            assign_layouts(plan, ranks_of_key_value_head(scenario_.model, plan));
        prices_.push_back(std::make_unique<StagePrices>(timed_.costs->network(), layouts.mesh));
        return lowered_.time(plan, layouts, *prices_.back(), pool_);
    }

    TimingPool& pool() { return pool_; }

private:
    static Scenario scenario_of(std::vector<std::string> settings) {
        settings.emplace_back("plan.pipeline_model_parallel_size=2");
        return small_scenario("chunk", settings);
    }

    Scenario scenario_;
    testing::TimedPlans timed_;
    TimingPool pool_;
    std::vector<std::unique_ptr<StagePrices>> prices_;
    LoweredChunk lowered_;
};

tl::expected<ChunkTiming, std::string_view> middle_chunk(const std::vector<std::string>& settings) {
    static std::vector<std::unique_ptr<MiddleChunk>> kept;  // their timings are looked at
    return kept.emplace_back(std::make_unique<MiddleChunk>(settings))->time(settings);
}

TEST(LoweredChunk, SendsWhatItsLastOpsMake) {
    const auto chunk = middle_chunk({});
    ASSERT_TRUE(chunk) << chunk.error();
    EXPECT_EQ(chunk->sends_forward.pass, ChunkPass::forward);
    EXPECT_EQ(chunk->sends_forward.op, chunk->pass(ChunkPass::forward).timing->size() - 1);
    EXPECT_EQ(chunk->sends_backward.pass, ChunkPass::backward);
    EXPECT_TRUE(chunk->pass(ChunkPass::forward).waits_for_message);
    // A micro-batch of 2 times 1,024 tokens of 1,024 numbers of 2 bytes.
    EXPECT_EQ(chunk->message.count(), 2 * 1024 * 1024 * 2);
}

TEST(LoweredChunk, AGatherOfWhatArrivesStartsBeforeThePass) {
    const auto chunk =
        middle_chunk({"plan.tensor_model_parallel_size=2", "plan.sequence_parallel=true"});
    ASSERT_TRUE(chunk) << chunk.error();
    const ChunkPassTiming& backward = chunk->pass(ChunkPass::backward);
    EXPECT_TRUE(backward.starts_early);
    ASSERT_FALSE(backward.early.empty());
    EXPECT_TRUE(backward.early[0].after_message);
    EXPECT_FALSE(chunk->pass(ChunkPass::forward).starts_early);
}

// Lowered once, or for each plan: what plans with the same passes do differently shows all the
// same.
TEST(LoweredChunk, ServesAllPlansWithTheSamePasses) {
    const std::vector<std::vector<std::string>> plans{
        {},
        {"plan.data_parallel_sharding_strategy=optim"},
        {"plan.data_parallel_sharding_strategy=optim", "plan.overlap_grad_reduce=true"},
        {"plan.data_parallel_sharding_strategy=optim_grads",
         "plan.overlap_grad_reduce=true",
         "plan.overlap_param_gather=true"},
        {"plan.overlap_p2p=true", "plan.schedule=gpipe"},
    };
    MiddleChunk shared{plans.front()};
    std::set<std::uint32_t> contents;
    for (const auto& plan : plans) {
        const auto chunk = shared.time(plan);
        ASSERT_TRUE(chunk) << chunk.error();
        MiddleChunk own{plan};
        auto alone = own.time(plan);
        ASSERT_TRUE(alone) << alone.error();
        for (std::size_t p = 0; p < 2; ++p) {
            EXPECT_TRUE(chunk->passes[p].timing->is_same(*alone->passes[p].timing));
            alone->passes[p].timing = chunk->passes[p].timing;
        }
        EXPECT_EQ(content_of(*chunk), content_of(*alone));
        contents.insert(chunk->content);
    }
    EXPECT_EQ(contents.size(), 2u);  // one bucket: it is reduced, or scattered and gathered
}

}  // namespace
}  // namespace orrery
