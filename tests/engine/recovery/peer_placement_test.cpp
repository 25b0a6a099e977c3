// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/peer_placement.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/recovery/published_forms.h"

namespace orrery {
namespace {

// V5: over every set of simultaneous losses, the share that groups survive is GEMINI's formula.
TEST(PeerPlacement, GroupsSurviveAsOftenAsTheFormulaSays) {
    const JobShape shape{.slots = 16, .units = 16};
    for (const auto& [copies, lost] : {std::pair{2u, 2u}, {2u, 3u}, {2u, 4u}, {4u, 4u}}) {
        const PeerPlacement placement{PeerPlacementKind::group, copies};
        std::int64_t all = 0;
        std::int64_t survived = 0;
        for (std::uint32_t set = 0; set < 1u << 16; ++set) {
            if (static_cast<std::uint32_t>(__builtin_popcount(set)) != lost) {
                continue;
            }
            std::vector<std::uint32_t> slots;
            for (std::uint32_t i = 0; i < 16; ++i) {
                if ((set >> i & 1u) != 0) {
                    slots.push_back(i);
                }
            }
            ++all;
            survived += placement.survives(shape, slots) ? 1 : 0;
        }
        EXPECT_NEAR(static_cast<double>(survived) / static_cast<double>(all),
                    group_survival(16, copies, lost),
                    1e-9);
    }
}

TEST(PeerPlacement, EverybodyHoldsItsOwnAndSomebodyElses) {
    for (const PeerPlacementKind kind : {PeerPlacementKind::group,
                                         PeerPlacementKind::ring,
                                         PeerPlacementKind::cross_data_parallel}) {
        for (const bool unit_major : {true, false}) {
            const JobShape shape{.slots = 21, .units = 7, .stages = 3, .unit_major = unit_major};
            for (std::uint32_t slot = 0; slot < shape.slots; ++slot) {
                const auto holders = PeerPlacement{kind, 2}.holders(shape, slot);
                EXPECT_GE(holders.size(), 2u);
                EXPECT_NE(std::find(holders.begin(), holders.end(), slot), holders.end());
                for (const std::uint32_t holder : holders) {
                    EXPECT_LT(holder, shape.slots);
                    if (kind == PeerPlacementKind::cross_data_parallel) {
                        EXPECT_EQ(shape.stage_of(holder), shape.stage_of(slot));
                    }
                }
            }
        }
    }
}

TEST(PeerPlacement, ARingLosesNeighboursOnly) {
    const JobShape shape{.slots = 10, .units = 10};
    const PeerPlacement ring{PeerPlacementKind::ring, 2};
    EXPECT_TRUE(ring.survives(shape, {1, 3, 5, 7, 9}));
    EXPECT_FALSE(ring.survives(shape, {9, 0}));
}

}  // namespace
}  // namespace orrery
