// SPDX-License-Identifier: Apache-2.0
#include "engine/world/open_transfers.h"

#include <gtest/gtest.h>

#include "tests/engine/small_plan.h"

namespace orrery {
namespace open_transfers_test {

using namespace small_runs;

class OpenTransfersTest : public ::testing::Test {
protected:
    SmallPlan small;
    SimulationClock clock{*small.rates};
    OpenTransfers open{*small.plan, clock, 100};
};

constexpr ConnectionClassId kFirst{0};
constexpr ConnectionClassId kSecond{1};

TEST_F(OpenTransfersTest, MembersOfAConnectionFindOneTransferBySequence) {
    const OpenTransferId first = open.find_or_add(kFirst, 0, 0);
    const OpenTransferId second = open.find_or_add(kFirst, 1, 0);
    EXPECT_NE(first, second);
    EXPECT_EQ(open.find_or_add(kFirst, 0, 0), first);
    EXPECT_EQ(open.pool[first].missing, open.connections[kFirst].num_members);
    EXPECT_NE(open.find_or_add(kSecond, 0, 0), first);
    open.close(first);
    EXPECT_EQ(open.find_or_add(kFirst, 1, 0), second);
}

TEST_F(OpenTransfersTest, APlaceIsUsedAgainAfterTheInstantOnly) {
    const OpenTransferId first = open.add(kFirst, 0, 0);
    open.close(first);
    EXPECT_NE(open.add(kFirst, 1, 0), first);
    open.end_instant();
    EXPECT_EQ(open.add(kFirst, 2, 0), first);
}

TEST_F(OpenTransfersTest, AnEventOfAClosedTransferIsTold) {
    const OpenTransferId t = open.add(kFirst, 0, 0);
    open.expect_event(t, 7_ns);
    const Event event = clock.queue.pop();
    EXPECT_EQ(event.target, 100 + index(t));
    EXPECT_EQ(event.generation, open.pool[t].generation);
    open.close(t);
    EXPECT_NE(event.generation, open.pool[t].generation);
}

}  // namespace open_transfers_test
}  // namespace orrery
