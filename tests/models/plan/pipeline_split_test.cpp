// SPDX-License-Identifier: Apache-2.0
#include "models/plan/pipeline_split.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/models/known_models.h"

namespace orrery {
namespace {

using Layers = std::vector<std::int64_t>;

ParallelPlan stages(std::int64_t pp, std::int64_t vpp = 1) {
    return {.pipeline_model_parallel_size = pp, .virtual_pipeline_model_parallel_size = vpp};
}

TEST(PipelineSplit, GivesEachVirtualStageTheSame) {
    EXPECT_EQ(layers_of_stages(gpt3_175b(), stages(8)), Layers(8, 12));
    EXPECT_EQ(layers_of_stages(gpt3_175b(), stages(8, 6)), Layers(48, 2));
    EXPECT_EQ(layers_of_stages(gpt2_124m(), stages(1)), Layers{12});
}

// Dubey et al., The Llama 3 Herd of Models, 2024, section 3.3.2: one layer less at both ends.
TEST(PipelineSplit, LetsEmbeddingAndLossTakeALayersPlace) {
    ParallelPlan plan = stages(8, 8);
    plan.embedding_and_loss_as_layers = true;
    Layers expected(64, 2);
    expected.front() = 1;
    expected.back() = 1;
    EXPECT_EQ(layers_of_stages(llama3_405b(), plan), expected);
    plan = stages(1);
    plan.embedding_and_loss_as_layers = true;
    EXPECT_EQ(layers_of_stages(llama3_405b(), plan), Layers{126});
}

TEST(PipelineSplit, FollowsAGivenLayout) {
    ParallelPlan plan = stages(4);
    plan.pipeline_layout = {2, 4, 4, 2};
    EXPECT_EQ(layers_of_stages(gpt2_124m(), plan), plan.pipeline_layout);
    plan.pipeline_layout = {0, 6, 6, 0};
    EXPECT_EQ(layers_of_stages(gpt2_124m(), plan), plan.pipeline_layout);
}

TEST(PipelineSplit, RejectsWhatDoesNotDivideAndSaysWhatDoes) {
    const Errors stages_error = check_pipeline_split(gpt2_124m(), stages(5));
    ASSERT_EQ(stages_error.size(), 1u);
    EXPECT_EQ(stages_error[0].to_string(),
              "plan.pipeline_model_parallel_size: error: 5 stages do not divide 12 layers "
              "(hint: 1, 2, 3, 4, 6, 12, or give plan.pipeline_layout)");
    const Errors chunks_error = check_pipeline_split(gpt2_124m(), stages(4, 2));
    ASSERT_EQ(chunks_error.size(), 1u);
    EXPECT_EQ(
        chunks_error[0].to_string(),
        "plan.virtual_pipeline_model_parallel_size: error: 2 chunks on 4 stages do not divide "
        "12 layers (hint: 1, 3, or give plan.pipeline_layout)");
}

TEST(PipelineSplit, RejectsALayoutThatIsNoSplit) {
    ParallelPlan plan = stages(4);
    for (const Layers& layout : {Layers{3, 3, 3},      // three stages
                                 Layers{3, 3, 3, 4},   // thirteen layers
                                 Layers{4, 0, 4, 4},   // a stage inside with nothing to do
                                 Layers{-1, 5, 4, 4},  // less than nothing
                                 Layers{6, 6, 6, 6, -12}}) {
        plan.pipeline_layout = layout;
        const Errors errors = check_pipeline_split(gpt2_124m(), plan);
        ASSERT_FALSE(errors.empty());
        EXPECT_EQ(errors[0].where, "plan.pipeline_layout");
    }
    plan.pipeline_layout = {3, 3, 3, 3};
    EXPECT_TRUE(check_pipeline_split(gpt2_124m(), plan).empty());
    plan.embedding_and_loss_as_layers = true;
    EXPECT_EQ(check_pipeline_split(gpt2_124m(), plan).size(), 1u);
}

// Whatever is accepted holds every layer once, and whatever has an even split is accepted.
TEST(PipelineSplit, AcceptsExactlyTheEvenSplits) {
    for (std::int64_t layers = 1; layers <= 40; ++layers) {
        for (std::int64_t pp = 1; pp <= 8; ++pp) {
            for (std::int64_t vpp = 1; vpp <= 5; ++vpp) {
                for (const bool ends : {false, true}) {
                    ParallelPlan plan = stages(pp, vpp);
                    plan.embedding_and_loss_as_layers = ends;
                    const Transformer model = gpt(layers, 64, 1, 8, 8);
                    const bool even = (layers + (ends ? 2 : 0)) % (pp * vpp) == 0;
                    EXPECT_EQ(check_pipeline_split(model, plan).empty(), even);
                    if (even) {
                        const Layers split = layers_of_stages(model, plan);
                        EXPECT_EQ(std::ssize(split), pp * vpp);
                        EXPECT_EQ(std::accumulate(split.begin(), split.end(), std::int64_t{0}),
                                  layers);
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace orrery
