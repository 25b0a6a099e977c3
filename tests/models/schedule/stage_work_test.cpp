// SPDX-License-Identifier: Apache-2.0
#include "models/schedule/stage_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace orrery {
namespace {

std::string name_of(const StageWork& one) {
    const std::string chunk = std::to_string(one.item.chunk);
    const std::string pass = (one.item.pass == Pass::forward           ? "F"
                              : one.item.pass == Pass::backward        ? "B"
                              : one.item.pass == Pass::backward_weight ? "W"
                                                                       : "I") +
                             chunk + "." + std::to_string(one.item.micro_batch);
    switch (one.task) {
        case StageTask::gather_parameters:
            return "gather" + chunk;
        case StageTask::receive:
            return "r" + pass;
        case StageTask::restart:
            return "restart";
        case StageTask::pass:
            return pass;
        case StageTask::send:
            return "s" + pass;
        case StageTask::reduce_gradients:
            return "reduce" + chunk;
        case StageTask::reduce_tied:
            return "tied" + chunk;
        case StageTask::reduce_copies:
            return "copies" + chunk;
        case StageTask::optimizer:
            return "optimizer";
        case StageTask::optimizer_of_rest:
            return "rest";
    }
    return "?";
}

// "F0.1" is the forward pass of chunk 0 over micro-batch 1, "rF0.1" and "sF0.1" its messages;
// "<3,4": it waits for what has these positions.
std::string text(const StageWalk& walk) {
    std::string text;
    for (const StageWork& one : walk.work) {
        text += (text.empty() ? "" : " ") + name_of(one);
        char mark = '<';
        for (const std::uint32_t wait : walk.waits_of(one)) {
            text += mark + std::to_string(wait);
            mark = ',';
        }
    }
    return text;
}

std::size_t count(const StageWalk& walk, StageTask task) {
    return static_cast<std::size_t>(std::ranges::count(walk.work, task, &StageWork::task));
}

constexpr ScheduleShape kTwoStages{.stages = 2, .chunks = 1, .micro_batches = 2};
constexpr StageRules kOverlap{
    .overlap_p2p = true, .overlap_grad_reduce = true, .overlap_param_gather = true};

TEST(StageWork, OfOneStageHasNoMessages) {
    EXPECT_EQ(text(stage_work({}, {.micro_batches = 2}, 0)),
              "F0.0 B0.0 F0.1 B0.1 reduce0<3 optimizer gather0<5");
}

// Behind the optimizer of its chunk, and all of it in the step that makes the weights.
TEST(StageWork, AGatherWithTheOptimizerStepFollowsTheStepOfItsChunk) {
    StageRules rules = kOverlap;
    rules.schedule = ScheduleKind::interleaved_1f1b;
    rules.overlap_param_gather_with_optimizer_step = true;
    const StageWalk walk = stage_work(rules, {.chunks = 3, .micro_batches = 1}, 0);
    const std::string all = text(walk);
    EXPECT_EQ(all.substr(all.find("optimizer")), "optimizer gather0<9 rest gather1<11 gather2<11");
    EXPECT_EQ(walk.work[9].task, StageTask::optimizer);
    EXPECT_EQ(walk.work[11].task, StageTask::optimizer_of_rest);
}

// A message is posted behind the previous pass, with what that pass sends: no pass runs beside it.
TEST(StageWork, WithoutOverlapTheHostWaitsForEveryExchange) {
    EXPECT_EQ(text(stage_work({}, kTwoStages, 0)),
              "F0.0 sF0.0<0 restart<1 F0.1 sF0.1<3 rB0.0<3 restart<4,5 B0.0 rB0.1<7 restart<8 "
              "B0.1 reduce0<10 optimizer gather0<12");
    EXPECT_EQ(text(stage_work({}, kTwoStages, 1)),
              "rF0.0 restart<0 F0.0 B0.0 sB0.0<3 rF0.1<3 restart<4,5 F0.1 B0.1 sB0.1<8 "
              "reduce0<8 optimizer gather0<11");
}

// A message is posted two passes ahead, and data-parallel work moves beside the passes.
TEST(StageWork, WithOverlapOnlyReceivesWait) {
    EXPECT_EQ(text(stage_work(kOverlap, kTwoStages, 0)),
              "gather0 F0.0 sF0.0 F0.1 sF0.1 rB0.0<1 B0.0 rB0.1<3 B0.1 reduce0 optimizer");
}

// What the last stage sends to the first one, its next chunk's, is not waited for.
TEST(StageWork, GoesRoundThePipelineWithoutARestart) {
    const StageRules rules{.schedule = ScheduleKind::breadth_first, .tied_embeddings = true};
    EXPECT_EQ(text(stage_work(rules, {.stages = 2, .chunks = 2, .micro_batches = 2}, 1)),
              "rF0.0 restart<0 F0.0 sF0.0<2 rF0.1<2 restart<4 F0.1 sF0.1<6 rF1.0<6 restart<8 F1.0 "
              "rF1.1<10 restart<11 F1.1 B1.0 sB1.0<14 restart<15 B1.1 sB1.1<17 rB0.0<17 "
              "restart<18,19 B0.0 sB0.0<21 rB0.1<21 restart<22,23 B0.1 sB0.1<25 "
              "reduce1<25 reduce0<25 tied1 optimizer gather0<30 gather1<30");
}

TEST(StageWork, AChunksGradientsAreReducedBehindItsLastPass) {
    StageRules rules = kOverlap;
    rules.schedule = ScheduleKind::breadth_first;
    EXPECT_EQ(text(stage_work(rules, {.stages = 1, .chunks = 2, .micro_batches = 2}, 0)),
              "gather0 gather1 F0.0 F0.1 F1.0 F1.1 B1.0 B1.1 reduce1 B0.0 B0.1 reduce0 optimizer");
}

// Megatron-LM's interleaved schedule: one exchange for a forward pass and the backward behind it.
TEST(StageWork, PairsOfAnExchangeReceiveAndSendTogether) {
    const StageRules rules{.schedule = ScheduleKind::interleaved_1f1b};
    const auto pairs = [&](std::int32_t micro_batches, std::int32_t stage = 2) {
        const ScheduleShape shape{.stages = 4, .chunks = 2, .micro_batches = micro_batches};
        const StageWalk walk = stage_work(rules, shape, stage);
        int found = 0;
        for (std::size_t i = 0; i + 1 < walk.work.size(); ++i) {
            found +=
                walk.work[i].task == StageTask::pass && walk.work[i].item.pass == Pass::forward &&
                walk.work[i + 1].task == StageTask::pass && sends(shape, stage, walk.work[i].item);
        }
        return found;
    };
    EXPECT_EQ(pairs(8), 10);
    EXPECT_EQ(pairs(4), 2);     // all others are warm-up
    EXPECT_EQ(pairs(4, 0), 0);  // all are
    EXPECT_EQ(pairs(6), 0);  // Megatron-LM has no such schedule
}

TEST(StageWork, AStageWithoutLayersHasNoWeightPasses) {
    StageRules rules = kOverlap;
    rules.schedule = ScheduleKind::zero_bubble;
    const StageWalk with = stage_work(rules, kTwoStages, 0);
    EXPECT_NE(text(with).find("W0.1"), std::string::npos) << text(with);
    rules.weight_passes = false;
    const StageWalk without = stage_work(rules, kTwoStages, 0);
    EXPECT_EQ(text(without).find('W'), std::string::npos) << text(without);
    EXPECT_EQ(without.work.size() + 2, with.work.size());
    EXPECT_EQ(count(without, StageTask::reduce_gradients), 1U);
}

TEST(StageWork, OnlyTheEndsOfAPipelineHoldACopyOfTheTiedEmbedding) {
    const StageRules rules{.tied_embeddings = true};
    const ScheduleShape three{.stages = 3, .chunks = 1, .micro_batches = 1};
    EXPECT_EQ(count(stage_work(rules, three, 0), StageTask::reduce_tied), 1U);
    EXPECT_EQ(count(stage_work(rules, three, 1), StageTask::reduce_tied), 0U);
    EXPECT_EQ(count(stage_work(rules, three, 2), StageTask::reduce_tied), 1U);
    EXPECT_EQ(count(stage_work(rules, {}, 0), StageTask::reduce_tied), 0U);
}

// The k-th message that one stage sends is the k-th that its neighbour receives.
TEST(StageWork, MessagesOfNeighboursMatch) {
    for (const ScheduleKind kind : {ScheduleKind::gpipe,
                                    ScheduleKind::one_f_one_b,
                                    ScheduleKind::interleaved_1f1b,
                                    ScheduleKind::breadth_first,
                                    ScheduleKind::zero_bubble}) {
        const bool loops =
            kind == ScheduleKind::interleaved_1f1b || kind == ScheduleKind::breadth_first;
        const ScheduleShape shape{.stages = 4, .chunks = loops ? 3 : 1, .micro_batches = 8};
        const auto messages = [&](std::int32_t stage, StageTask task, bool forward) {
            std::vector<std::int32_t> batches;
            for (const StageWork& one : stage_work({.schedule = kind}, shape, stage).work) {
                if (one.task == task && (one.item.pass == Pass::forward) == forward) {
                    batches.push_back(one.item.micro_batch);
                }
            }
            return batches;
        };
        for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
            const std::int32_t next = (stage + 1) % shape.stages;
            EXPECT_EQ(messages(stage, StageTask::send, true),
                      messages(next, StageTask::receive, true));
            EXPECT_EQ(messages(next, StageTask::send, false),
                      messages(stage, StageTask::receive, false));
        }
    }
}

// DualPipeV on one stage of two: the last one hands over to itself.
TEST(StageWork, TheTurnOfAVSendsNothing) {
    const ScheduleShape shape{
        .stages = 2, .chunks = 2, .micro_batches = 4, .placement = ChunkPlacement::v_shape};
    const auto item = [](Pass pass, std::int32_t chunk) {
        return WorkItem{.pass = pass, .chunk = chunk};
    };
    EXPECT_EQ(shape.virtual_stage(1, 0), 1);
    EXPECT_EQ(shape.virtual_stage(1, 1), 2);
    EXPECT_EQ(shape.virtual_stage(0, 1), 3);
    EXPECT_TRUE(receives(shape, 1, item(Pass::forward, 0)));
    EXPECT_FALSE(sends(shape, 1, item(Pass::forward, 0)));
    EXPECT_FALSE(receives(shape, 1, item(Pass::forward, 1)));
    EXPECT_TRUE(sends(shape, 1, item(Pass::forward, 1)));
    EXPECT_FALSE(sends(shape, 1, item(Pass::backward, 1)));
    EXPECT_FALSE(receives(shape, 1, item(Pass::backward, 0)));
    EXPECT_TRUE(receives(shape, 1, item(Pass::backward_input, 1)));
    // The first stage has both ends of the model.
    EXPECT_FALSE(receives(shape, 0, item(Pass::forward, 0)));
    EXPECT_FALSE(sends(shape, 0, item(Pass::forward, 1)));
    EXPECT_FALSE(receives(shape, 0, item(Pass::backward, 1)));
    EXPECT_FALSE(sends(shape, 0, item(Pass::backward, 0)));
}

// Both stages of a pair add up their two parts of the model in the same order.
TEST(StageWork, CopiesAreAddedUpInTheSameOrder) {
    const ScheduleShape shape{
        .stages = 2, .chunks = 2, .micro_batches = 4, .placement = ChunkPlacement::both_ends};
    const StageRules rules{.schedule = ScheduleKind::dual_pipe, .overlap_p2p = true};
    EXPECT_EQ(shape.virtual_stages(), 2);
    EXPECT_EQ(shape.virtual_stage(0, 1), 1);
    EXPECT_THAT(text(stage_work(rules, shape, 0)),
                testing::HasSubstr(" copies0 copies1 optimizer "));
    EXPECT_THAT(text(stage_work(rules, shape, 1)),
                testing::HasSubstr(" copies1 copies0 optimizer "));
}

}  // namespace
}  // namespace orrery
