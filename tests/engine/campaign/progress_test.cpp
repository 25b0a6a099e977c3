// SPDX-License-Identifier: Apache-2.0
#include "engine/campaign/progress.h"

#include <gtest/gtest.h>

namespace orrery {
namespace progress_test {

constexpr WallTime s(double seconds) {
    return WallTime::seconds(seconds);
}
constexpr std::int64_t kSecond = 1'000'000;

TEST(Progress, TrainsAnIntervalAndStandsStill) {
    Accounts accounts;
    Progress progress{{.interval = s(100), .stall = s(10)}};
    progress.start({});
    progress.advance(s(99), accounts);
    EXPECT_EQ(progress.next_checkpoint(), s(100));
    EXPECT_EQ(progress.durable(), 0);
    progress.advance(s(109), accounts);
    EXPECT_EQ(progress.work(), 100 * kSecond);
    EXPECT_EQ(progress.durable(), 0);  // not written yet
    progress.advance(s(110), accounts);
    EXPECT_EQ(progress.durable(), 100 * kSecond);
    progress.advance(s(250), accounts);
    EXPECT_EQ(progress.work(), 230 * kSecond);
    EXPECT_EQ(progress.durable(), 200 * kSecond);
    progress.stop(accounts);
    EXPECT_EQ(accounts[NodeUse::productive], 230 * kSecond);
    EXPECT_EQ(accounts[NodeUse::checkpoint], 20 * kSecond);
    EXPECT_EQ(progress.kept(), s(230));
}

TEST(Progress, ABackgroundCopyIsDurableLaterAndSlowsTraining) {
    Accounts accounts;
    Progress progress{
        {.interval = s(100), .stall = s(1), .copy = s(20), .copy_rate = kFullRate / 2}};
    progress.start({});
    progress.advance(s(120), accounts);
    EXPECT_EQ(progress.durable(), 0);
    progress.advance(s(121), accounts);
    EXPECT_EQ(progress.durable(), 100 * kSecond);
    EXPECT_EQ(progress.work(), 110 * kSecond);  // 20 s at half the rate
    progress.advance(s(131), accounts);
    EXPECT_EQ(progress.work(), 120 * kSecond);
    progress.stop(accounts);
    progress.roll_back(progress.durable(), accounts);
    EXPECT_EQ(progress.work(), 100 * kSecond);
}

TEST(Progress, ATornCheckpointCountsUntilItIsRead) {
    Accounts accounts;
    Progress progress{{.interval = s(100)}};
    progress.start({});
    progress.advance(s(150), accounts);
    progress.tear_next();
    progress.advance(s(250), accounts);
    progress.stop(accounts);
    EXPECT_EQ(progress.durable(), 200 * kSecond);
    EXPECT_EQ(progress.durable_before(INT64_MAX, 0), 100 * kSecond);
    EXPECT_EQ(progress.durable_before(INT64_MAX, 1), 0);
    progress.roll_back(100 * kSecond, accounts);
    progress.start(s(250));
    progress.advance(s(350), accounts);
    EXPECT_EQ(progress.durable_before(INT64_MAX, 0), 200 * kSecond);  // written anew
    progress.stop(accounts);
}

TEST(Progress, ASlowStoreIsWaitedForUnlessTheCopyIsInTheBackground) {
    for (const bool background : {false, true}) {
        Accounts accounts;
        Progress progress{
            {.interval = s(100), .stall = s(2), .copy = background ? s(10) : WallTime{}}};
        progress.store_slow(s(150), 5);
        progress.start({});
        progress.advance(s(400), accounts);
        progress.stop(accounts);
        // Both checkpoints before 150 s of it, if the store's own time was waited for.
        EXPECT_EQ(accounts[NodeUse::checkpoint], (background ? 3 * 2 : 10 + 2 + 2) * kSecond);
        EXPECT_EQ(progress.durable(), 300 * kSecond);
    }
}

TEST(Progress, AFaultInTheCopyFallsBackToTheCheckpointBefore) {
    Accounts accounts;
    Progress progress{{.interval = s(100), .copy = s(50)}};
    progress.start({});
    progress.advance(s(240), accounts);  // the second copy ends at 250
    progress.stop(accounts);
    EXPECT_EQ(progress.durable(), 100 * kSecond);
}

TEST(Progress, ACheckpointWaitsForTheOneBefore) {
    Accounts accounts;
    Progress progress{{.interval = s(10), .copy = s(30)}};
    progress.start({});
    progress.advance(s(40), accounts);
    // 10 s of work, 10 s while the copy runs, then it waits until 40.
    EXPECT_EQ(progress.work(), 20 * kSecond);
    progress.advance(s(70), accounts);
    EXPECT_EQ(progress.work(), 30 * kSecond);
    EXPECT_EQ(progress.durable(), 20 * kSecond);
}

TEST(Progress, NothingBecomesDurableWhileTheStoreIsDown) {
    Accounts accounts;
    Progress blocking{{.interval = s(10), .stall = s(1)}};
    blocking.start({});
    blocking.store_down({}, s(30));
    blocking.advance(s(29), accounts);
    EXPECT_EQ(blocking.durable(), 0);
    blocking.advance(s(34), accounts);
    EXPECT_EQ(blocking.durable(), 30 * kSecond);
    Progress copying{{.interval = s(10), .copy = s(5)}};
    copying.start({});
    copying.advance(s(12), accounts);
    copying.store_down(s(12), s(100));
    copying.advance(s(104), accounts);
    EXPECT_EQ(copying.durable(), 0);
    copying.advance(s(105), accounts);
    EXPECT_EQ(copying.durable(), 10 * kSecond);
}

TEST(Progress, RollingBackMovesWhatWasLost) {
    Accounts accounts;
    Progress progress{{.interval = s(100)}};
    progress.set_rate({.work = kFullRate, .nodes = 4}, accounts);
    progress.start({});
    progress.advance(s(150), accounts);
    progress.set_rate({.work = kFullRate / 2, .slow = kFullRate / 2, .nodes = 4}, accounts);
    progress.advance(s(190), accounts);
    progress.stop(accounts);
    EXPECT_EQ(progress.work(), 170 * kSecond);
    progress.roll_back(100 * kSecond, accounts);
    EXPECT_EQ(progress.last_loss(), s(90));
    EXPECT_EQ(accounts[NodeUse::productive], 4 * 100 * kSecond);
    EXPECT_EQ(accounts[NodeUse::straggler], 0);
    EXPECT_EQ(accounts[NodeUse::lost], 4 * 90 * kSecond);
    EXPECT_EQ(progress.kept(), s(100));
    accounts.audit(s(190), 4);
}

TEST(Progress, OldCheckpointsCanBeFound) {
    Accounts accounts;
    Progress progress{{.interval = s(10)}};
    progress.start({});
    progress.advance(s(95), accounts);
    EXPECT_EQ(progress.durable_before(INT64_MAX, 0), 90 * kSecond);
    EXPECT_EQ(progress.durable_before(55 * kSecond, 0), 50 * kSecond);
    EXPECT_EQ(progress.durable_before(55 * kSecond, 2), 30 * kSecond);
    EXPECT_EQ(progress.durable_before(55 * kSecond, 5), 0);
}

TEST(Progress, PausesLeaveCheckpointsWhereTheyWere) {
    Accounts accounts;
    Progress progress{{.interval = s(100), .stall = s(4), .copy = s(50)}};
    progress.start({});
    for (int i = 0; i < 11; ++i) {  // 10 s of training, 1 s of pause
        progress.advance(s(11 * i + 10), accounts);
        progress.pause(accounts);
        progress.resume(s(11 * i + 11));
    }
    progress.advance(s(300), accounts);
    EXPECT_EQ(progress.durable(), 200 * kSecond);
}

TEST(Progress, CopiesInMemoryCostAShareOfEveryStep) {
    Accounts accounts;
    Progress progress{
        {.interval = WallTime{}, .memory_interval = s(7), .memory_share = kFullRate / 4}};
    progress.start({});
    progress.advance(s(100), accounts);
    EXPECT_EQ(progress.work(), 75 * kSecond);
    EXPECT_EQ(progress.in_memory(), 70 * kSecond);
    progress.stop(accounts);
    EXPECT_EQ(accounts[NodeUse::checkpoint], 25 * kSecond);
    EXPECT_EQ(accounts[NodeUse::productive], 75 * kSecond);
}

}  // namespace progress_test
}  // namespace orrery
