// SPDX-License-Identifier: Apache-2.0
#include "network/fluid/uncontended.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace orrery {
namespace {

using namespace literals;

const std::vector<LinkInfo> kLinks{{.capacity = 1_GBps}, {.capacity = 2_GBps}};
const std::vector<LinkShare> kFootprint{{.link = LinkId{0}}, {.link = LinkId{1}, .count = 3}};

TEST(Uncontended, EveryFlowGetsItsNarrowestShareHoweverManyThereAre) {
    UncontendedRates rates(kLinks);
    const FootprintId footprint = rates.add_footprint(kFootprint);
    for (int i = 0; i < 100; ++i) {
        const FlowId flow = rates.start(Time{}, footprint, 1_MiB, {});
        rates.settle(Time{});
        EXPECT_EQ(rates.rate(flow).bits_per_second(), 16'000'000'000 / 3);
    }
    std::vector<FlowId> ended{FlowId{7}};
    rates.pop_completed(rates.next_completion(), ended);
    EXPECT_EQ(ended.size(), 100U);
    EXPECT_TRUE(std::is_sorted(ended.begin(), ended.end()));
    EXPECT_EQ(rates.next_completion(), Time::max());
    EXPECT_EQ(rates.num_flows_started(), 100);
}

TEST(Uncontended, ACapHoldsAndZeroMeansNoCap) {
    UncontendedRates rates(kLinks);
    const FootprintId footprint = rates.add_footprint(kFootprint);
    const FlowId capped = rates.start(Time{}, footprint, 1_MiB, 3_Gbps);
    const FlowId nowhere = rates.start(Time{}, rates.add_footprint({}), 1_MiB, 900_Gbps);
    rates.settle(Time{});
    EXPECT_EQ(rates.rate(capped), 3_Gbps);
    EXPECT_EQ(rates.rate(nowhere), 900_Gbps);
    EXPECT_EQ(rates.next_completion(), 1_MiB / 900_Gbps);
}

TEST(Uncontended, ACapacityCountsFromItsChangeOn) {
    UncontendedRates rates(kLinks);
    const std::vector<LinkShare> first{{.link = LinkId{0}}};
    rates.start(Time{}, rates.add_footprint(first), Bytes{4'000'000}, {});
    rates.settle(Time{});
    EXPECT_EQ(rates.next_completion(), 4_ms);
    rates.set_capacity(1_ms, LinkId{0}, 3_GBps);
    rates.settle(1_ms);
    EXPECT_EQ(rates.next_completion(), 2_ms);
    rates.set_capacity(1_ms, LinkId{0}, Bandwidth{});
    rates.settle(1_ms);
    EXPECT_EQ(rates.next_completion(), Time::max());
    rates.set_capacity(7_ms, LinkId{0}, 1_GBps);
    rates.settle(7_ms);
    EXPECT_EQ(rates.next_completion(), 10_ms);
}

}  // namespace
}  // namespace orrery
