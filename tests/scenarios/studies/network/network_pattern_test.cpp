// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/network_pattern.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

TEST(NetworkPattern, EachIsACollectiveOrTrafficOrTheRingOfMessages) {
    std::set<std::string> names;
    for (const NetworkPattern& pattern : all_network_patterns()) {
        EXPECT_TRUE(names.insert(pattern.name).second) << pattern.name;
        EXPECT_FALSE(pattern.collective && pattern.traffic) << pattern.name;
        if (!pattern.collective && !pattern.traffic) {
            EXPECT_EQ(pattern.name, "send_recv");
        }
    }
    EXPECT_EQ(names.size(), 12U);
}

TEST(NetworkPattern, BusFactorsAreNcclTests) {
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_reduce, 4), 1.5);
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_gather, 4), 0.75);
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::reduce_scatter, 4), 0.75);
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_to_all, 4), 0.75);
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::broadcast, 4), 1);
    EXPECT_DOUBLE_EQ(bus_factor(std::nullopt, 4), 1);
}

}  // namespace
}  // namespace orrery
