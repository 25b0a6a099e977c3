// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/job_state.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(JobShape, EverySlotHasAUnitAndAStage) {
    for (const bool unit_major : {true, false}) {
        const JobShape shape{.slots = 24, .units = 6, .stages = 4, .unit_major = unit_major};
        std::vector<std::vector<int>> count(6, std::vector<int>(4, 0));
        for (std::uint32_t slot = 0; slot < shape.slots; ++slot) {
            ++count[shape.unit_of(slot)][shape.stage_of(slot)];
        }
        for (const auto& unit : count) {
            EXPECT_EQ(unit, std::vector<int>(4, 1));
        }
    }
}

TEST(JobState, KeepsSlotsAndNodesInAgreement) {
    JobState state{{.slots = 8, .units = 4, .stages = 2}, 10};
    EXPECT_EQ(state.spares, (std::vector<NodeNumber>{8, 9}));
    state.vacate(3);
    state.vacate(6);
    EXPECT_EQ(state.vacant(Vacancy::open), 2u);
    EXPECT_EQ(state.slot_of_node[3], kNoSlot);
    EXPECT_EQ(state.peers(3), 3u);
    state.slots[6].vacancy = Vacancy::dropped;
    EXPECT_EQ(state.dropped_units(), (std::vector<std::uint32_t>{3}));
    state.place(3, 9);
    EXPECT_EQ(state.slot_of_node[9], 3u);
    EXPECT_EQ(state.spares, (std::vector<NodeNumber>{8}));
    EXPECT_EQ(state.vacancies, (std::vector<std::uint32_t>{6}));
    state.place(6, 8);
    EXPECT_TRUE(state.vacancies.empty());
    EXPECT_TRUE(state.dropped_units().empty());
}

}  // namespace
}  // namespace orrery
