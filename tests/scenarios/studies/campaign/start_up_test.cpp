// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/start_up.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// The layout of MegaScale's 175B model on `gpus` GPUs.
ParallelPlan megascale(std::int64_t gpus) {
    ParallelPlan plan;
    plan.tensor_model_parallel_size = 8;
    plan.pipeline_model_parallel_size = 8;
    plan.data_parallel_size = gpus / 64;
    return plan;
}

double meeting_s(std::int64_t gpus, StoreKind store, BarrierRule barriers) {
    return meeting_of(megascale(gpus), {.store = store, .barriers = barriers}).time.seconds();
}

// The two that the time of an operation comes from: a change of the counts would show here.
TEST(Meeting, TakesWhatMegaScalePublishesForBothStores) {
    EXPECT_NEAR(meeting_s(2048, StoreKind::blocking, BarrierRule::every_group), 1047, 1e-3);
    EXPECT_NEAR(meeting_s(2048, StoreKind::asynchronous, BarrierRule::every_group), 361, 1e-3);
}

// Bounds that nothing was fitted to: under 5 s on 2,048, under 30 s on more than 10,000 GPUs; and
// not so far below that a bound says nothing.
TEST(Meeting, WithOneBarrierAKindIsWithinWhatMegaScalePublishes) {
    const auto o_n = [](std::int64_t gpus) {
        return meeting_s(gpus, StoreKind::asynchronous, BarrierRule::every_kind);
    };
    EXPECT_LT(o_n(2048), 5);
    EXPECT_GT(o_n(2048), 1);
    EXPECT_LT(o_n(10240), 30);
    EXPECT_LT(o_n(12288), 30);
    EXPECT_GT(o_n(12288), 6);
}

// FT-HSDP's initialisation of communicators, of other hardware and another company: within a
// factor of 1.6 from 16K to 96K GPUs, with nothing fitted.
TEST(Meeting, IsNearWhatMetaPublishes) {
    const std::pair<std::int64_t, double> published[] = {
        {16384, 17}, {22528, 30}, {65536, 100}, {98304, 200}};
    for (const auto& [gpus, seconds] : published) {
        const double ratio =
            meeting_s(gpus, StoreKind::asynchronous, BarrierRule::every_kind) / seconds;
        EXPECT_GT(ratio, 1 / 1.6) << gpus;
        EXPECT_LT(ratio, 1.6) << gpus;
    }
}

TEST(Meeting, GrowsWithTheSquareOfTheGpusIfEveryGroupHasABarrier) {
    for (const std::int64_t gpus : {1024, 4096, 16384}) {
        const double more = meeting_s(2 * gpus, StoreKind::blocking, BarrierRule::every_group) /
                            meeting_s(gpus, StoreKind::blocking, BarrierRule::every_group);
        EXPECT_NEAR(more, 4, 0.3);
        EXPECT_NEAR(meeting_s(2 * gpus, StoreKind::blocking, BarrierRule::every_kind) /
                        meeting_s(gpus, StoreKind::blocking, BarrierRule::every_kind),
                    2,
                    1e-6);
    }
}

// Each rank is in one group of each kind.
TEST(GroupKinds, ShareTheRanksAmongThem) {
    ParallelPlan plan = megascale(2048);
    const std::vector<GroupKind> kinds = group_kinds(plan);
    ASSERT_EQ(kinds.size(), 6U);
    EXPECT_EQ(kinds[0].groups, 64);   // of 32
    EXPECT_EQ(kinds[1].groups, 32);   // of 64
    EXPECT_EQ(kinds[2].groups, 256);  // of 8
    EXPECT_EQ(kinds[3].groups, 256);
    plan.context_parallel_size = 2;
    plan.hsdp_shard_size = 8;
    EXPECT_EQ(group_kinds(plan).size(), 10U);
    EXPECT_EQ(meeting_of(plan, {}).operations, 4096 * (2 + 10 + 2 * 10));
    EXPECT_EQ(meeting_of({}, {.store_operation = WallTime::seconds(1)}).time,
              WallTime::seconds(2 + 6 + 12));
}

TEST(ProcessStart, IsThePublishedTableWithoutItsCommunicators) {
    EXPECT_EQ(process_start(16384), WallTime::seconds(183));
    EXPECT_EQ(process_start(98304), WallTime::seconds(700));
    EXPECT_EQ(process_start(8), WallTime::seconds(183));
    WallTime before;
    for (std::int64_t gpus = 8; gpus < 300'000; gpus += 5000) {
        EXPECT_GE(process_start(gpus), before);
        before = process_start(gpus);
    }
}

// The case of ByteCheckpoint's table that it is made of.
TEST(StartUp, AgreementGrowsWithTheTreesDepth) {
    EXPECT_NEAR(checkpoint_agreement(1488).seconds(), 0.34, 1e-6);
    EXPECT_EQ(checkpoint_agreement(1), WallTime{});
    EXPECT_NEAR(checkpoint_agreement(1488 * 1488).seconds(), 0.68, 1e-6);
}

}  // namespace
}  // namespace orrery
