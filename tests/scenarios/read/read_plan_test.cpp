// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

const std::string kPlan = "micro_batch_size: 1\nglobal_batch_size: 8\n";

std::string errors_of(const std::string& text, ParallelPlan* plan = nullptr) {
    Errors errors;
    ParallelPlan ignored;
    read_plan(section_of(text), plan != nullptr ? *plan : ignored, errors);
    return lines_of(errors);
}

ParallelPlan plan_of(const std::string& text) {
    ParallelPlan plan;
    EXPECT_EQ(errors_of(text, &plan), "") << text;
    return plan;
}

TEST(ReadPlan, OnlyTheBatchIsRequired) {
    const ParallelPlan expected{.micro_batch_size = 1, .global_batch_size = 8};
    EXPECT_EQ(plan_of(kPlan), expected);
    EXPECT_EQ(errors_of("precision: bf16\n"),
              "s.yaml:1:1: error: 'plan' lacks the key 'micro_batch_size' (hint: add "
              "'micro_batch_size: …')\n"
              "s.yaml:1:1: error: 'plan' lacks the key 'global_batch_size' (hint: add "
              "'global_batch_size: …')\n");
}

TEST(ReadPlan, WordsOfMegatronMeanTheSame) {
    EXPECT_EQ(plan_of(kPlan + "context_parallel_comm: p2p\n").context_parallel_comm,
              ContextParallelComm::ring);
    EXPECT_EQ(plan_of(kPlan + "context_parallel_comm: a2a\n").context_parallel_comm,
              ContextParallelComm::all_to_all);
    EXPECT_EQ(plan_of(kPlan + "rank_order: tp-cp-ep-pp-dp\n").rank_order, RankOrder::tp_cp_pp_dp);
}

TEST(ReadPlan, ZeroHasFourStages) {
    const std::string key = "data_parallel_sharding_strategy: ";
    int stage = 0;
    for (const char* word : {"no_shard", "optim", "optim_grads", "optim_grads_params"}) {
        EXPECT_EQ(plan_of(kPlan + key + word + "\n").data_parallel_sharding_strategy,
                  static_cast<ShardingStrategy>(stage++));
    }
    EXPECT_NE(errors_of(kPlan + key + "zero_2\n").find("one of no_shard, optim, optim_grads"),
              std::string::npos);
}

TEST(ReadPlan, AGivenScheduleWinsOverTheOneOfVirtualStages) {
    const std::string text = kPlan + "virtual_pipeline_model_parallel_size: 2\n";
    EXPECT_EQ(plan_of(text).schedule, ScheduleKind::interleaved_1f1b);
    EXPECT_EQ(plan_of(text + "schedule: breadth_first\n").schedule, ScheduleKind::breadth_first);
}

TEST(ReadPlan, DerivedAndFutureKeysAreRefusedWithTheirReason) {
    EXPECT_EQ(errors_of(kPlan + "data_parallel_size: 4\n"),
              "s.yaml:3:1: error: data_parallel_size is derived, never given (hint: remove it: it "
              "is the number of GPUs / (tensor * pipeline * context))\n");
    EXPECT_EQ(errors_of(kPlan + "expert_model_parallel_size: 8\n"),
              "s.yaml:3:1: error: expert parallelism is not supported yet (hint: 1, or leave it "
              "out)\n");
    EXPECT_EQ(errors_of(kPlan + "expert_model_parallel_size: 1\n"), "");
}

TEST(ReadPlan, SizesHaveBounds) {
    for (const char* key : {"tensor_model_parallel_size",
                            "pipeline_model_parallel_size",
                            "context_parallel_size",
                            "virtual_pipeline_model_parallel_size",
                            "tp_comm_overlap_chunks"}) {
        for (const char* value : {"0", "-1", "1000000000"}) {
            const std::string errors = errors_of(kPlan + key + ": " + value + "\n");
            EXPECT_NE(errors.find(std::string{"plan."} + key + " is " + value + ", out of range"),
                      std::string::npos)
                << errors;
        }
    }
    EXPECT_NE(errors_of(kPlan + "pipeline_layout: [4, -1]\n").find("s.yaml:3:22: error: "),
              std::string::npos);
}

TEST(ReadPlan, ASectionThatIsNoMapIsOneError) {
    EXPECT_EQ(errors_of("words\n"), "s.yaml:1:1: error: plan must be a map, not 'words'\n");
}

}  // namespace
}  // namespace orrery
