// SPDX-License-Identifier: Apache-2.0
#include "engine/program/step_load.h"

#include <gtest/gtest.h>

namespace orrery {
namespace step_load_test {

// Two routers and three micro-batches; router 2 is on role 0 only. Levels 0 and 1 of 100 and 50
// rows.
StepLoad two_ranks() {
    StepLoad load;
    load.micro_batches = 3;
    load.routers = {{0, 2}};
    load.first_draw = {{StepLoad::kNone, 0}};
    load.first_of_rank = {0, 3, 6};
    load.loads = {{0, 600'000}, {1, 400'000}, {1, 1}, {1, 400'000}, {0, 600'000}, {0, 999'999}};
    load.num_levels = 2;
    load.rows_of_level = {100, 50};
    load.rows_of_router = {1, 100};
    load.column_of = {StepLoad::kNone, 0};
    load.kernels = {7, 8};
    return load;
}

TEST(StepLoad, AnOpHasADrawForEachMicroBatch) {
    const StepLoad load = two_ranks();
    Slot slot{.segment = SegmentId{0}, .micro_batch = 1, .waits = {}};
    EXPECT_EQ(load.draw_of(slot, 0), 0u);
    EXPECT_EQ(load.draw_of(slot, 1), 5u);
    slot.micro_batch = -1;
    EXPECT_EQ(load.draw_of(slot, 1), 0u);
}

TEST(StepLoad, RanksHaveTheirOwnLevels) {
    const StepLoad load = two_ranks();
    EXPECT_EQ(load.of(RankId{0}, RoleId{0}, 5).level, 1u);
    EXPECT_EQ(load.of(RankId{1}, RoleId{0}, 5).level, 0u);
    EXPECT_EQ(load.kernel(KernelId{0}, 1), 0u);  // no draw decides it
    EXPECT_EQ(load.kernel(KernelId{1}, 1), 8u);
    EXPECT_NE(load.signature(RankId{0}), load.signature(RankId{1}));
}

TEST(StepLoad, CallsHaveTheRowsOfTheirMembers) {
    const StepLoad load = two_ranks();
    const std::vector<RankId> members{RankId{0}, RankId{1}};
    CollectiveCall exchange{.kind = CollectiveKind::all_to_all, .bytes = Bytes{64}};
    exchange.rows.dispatcher = 1;
    const auto own =
        std::get<CollectiveCall>(load.call(TransferCall{exchange}, 4, RoleId{0}, members));
    EXPECT_EQ(own.rows.shares, (std::vector<std::uint32_t>{600'000, 400'000}));
    EXPECT_EQ(own.bytes, Bytes{64});
    const CollectiveCall split{.kind = CollectiveKind::all_gather, .bytes = Bytes{64}};
    const auto half = std::get<CollectiveCall>(
        load.call(TransferCall{split}, 5, RoleId{0}, std::vector<RankId>{RankId{0}}));
    EXPECT_EQ(half.bytes, Bytes{32});
    EXPECT_EQ(load.call(TransferCall{split}, 0, RoleId{0}, members), TransferCall{split});
}

}  // namespace step_load_test
}  // namespace orrery
