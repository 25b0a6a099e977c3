// SPDX-License-Identifier: Apache-2.0
#include "models/plan/stage_parties.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/lowering/lowering.h"
#include "models/plan/validate_plan.h"
#include "tests/models/staged_plans.h"

namespace orrery {
namespace {

TEST(StageParties, NeighbouringStagesOfOneSizeAreAParty) {
    const auto parties = stage_parties(untied_model(), staged_plan({4, 4, 2, 4}, 3));
    ASSERT_EQ(parties.size(), 3U);
    EXPECT_EQ(parties[0].num_stages, 2);
    EXPECT_EQ(parties[1].first_stage, 2);
    EXPECT_EQ(parties[2].first_stage, 3);
    EXPECT_EQ(index(parties[1].layouts.mesh.first_rank()), 24U);
    EXPECT_EQ(parties[1].layouts.mesh.num_ranks(), 6U);
    EXPECT_EQ(index(parties[2].layouts.mesh.first_rank()), 30U);
    EXPECT_EQ(stage_parties(untied_model(), staged_plan({2, 2})).size(), 1U);
}

TEST(StageParties, AStageOfOneRankHasNoSequenceParallelism) {
    const ParallelPlan plan = staged_plan({2, 1});
    EXPECT_TRUE(plan_of_stage(plan, 0).sequence_parallel);
    EXPECT_FALSE(plan_of_stage(plan, 1).sequence_parallel);
    EXPECT_EQ(plan_of_stage(plan, 1).tensor_model_parallel_size, 1);
}

// Equal sizes, named stage by stage, are the plan that names one.
TEST(StageParties, EqualSizesLowerToTheSameProgram) {
    ParallelPlan one = staged_plan({2, 2}, 2);
    const Program listed = lower(untied_model(), one);
    one.stage_tensor_model_parallel_sizes.clear();
    const Program plain = lower(untied_model(), one);
    EXPECT_EQ(listed.parties.size(), 1U);
    EXPECT_EQ(listed.send_recvs, plain.send_recvs);
    EXPECT_EQ(listed.collectives, plain.collectives);
}

struct BadSizes {
    std::vector<std::int64_t> sizes;
    void (*change)(Transformer&, ParallelPlan&);
    const char* what;
};

TEST(StageParties, SaysWhyStagesCantHaveTheseSizes) {
    const BadSizes cases[] = {
        {{2, 1, 1},
         [](Transformer&, ParallelPlan& p) { p.pipeline_model_parallel_size = 2; },
         "3 entries for 2 pipeline stages"},
        {{2, 1},
         [](Transformer&, ParallelPlan& p) { p.tensor_model_parallel_size = 8; },
         "the largest entry is 2, tensor_model_parallel_size 8"},
        {{2, 3}, [](Transformer&, ParallelPlan&) {}, "neither size divides"},
        {{2, 1},
         [](Transformer& m, ParallelPlan&) { m.tied_embeddings = true; },
         "share the embedding"},
        {{2, 1},
         [](Transformer&, ParallelPlan& p) { p.rank_order = RankOrder::tp_cp_pp_dp; },
         "ranks of a stage have to follow one another"},
        {{2, 1},
         [](Transformer&, ParallelPlan& p) {
             p.sequence_parallel = p.scatter_gather_tensors_in_pipeline = false;
         },
         "cut along the sequence"},
        {{32, 1}, [](Transformer&, ParallelPlan&) {}, "32 does not divide num_attention_heads 16"},
        {{2, 1},
         [](Transformer& m, ParallelPlan& p) {
             m.seq_length = 1023;
             p.sequence_parallel = false;
         },
         "seq_length 1023 is not divisible by 2 x 1"},
        {{0, 1}, [](Transformer&, ParallelPlan&) {}, "0 is out of range"},
    };
    for (const BadSizes& bad : cases) {
        ParallelPlan plan = staged_plan(bad.sizes);
        Transformer model = untied_model();
        bad.change(model, plan);
        const Errors errors = check(model, plan, 96);
        const bool said = std::ranges::any_of(errors, [&](const Error& error) {
            return error.where == "plan.stage_tensor_model_parallel_sizes" &&
                   error.what.find(bad.what) != std::string::npos && !error.hint.empty();
        });
        EXPECT_TRUE(said) << bad.what << ": "
                          << (errors.empty() ? "no error" : errors.front().to_string());
    }
    const ParallelPlan plan = staged_plan({2, 1});
    const Errors errors = check(untied_model(), plan, 4);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].what, "stages of 3 GPUs in sum x context 1 does not divide 4 GPUs");
}

}  // namespace
}  // namespace orrery
