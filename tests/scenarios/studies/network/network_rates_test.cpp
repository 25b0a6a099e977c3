// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/network_rates.h"

#include <gtest/gtest.h>

#include "network/simgrid/simgrid.h"

namespace orrery {
namespace {

using namespace literals;

// Two flows over one link: each alone at full rate, or half.
TEST(NetworkRates, OnlyAnalyticDoesNotShare) {
    const std::vector<LinkInfo> links = {{.capacity = 8_Gbps}};
    for (const auto& [fidelity, rate] : {std::pair{NetworkFidelity::analytic, 8_Gbps},
                                         std::pair{NetworkFidelity::fluid, 4_Gbps},
                                         std::pair{NetworkFidelity::simgrid, 4_Gbps}}) {
        if (!check_fidelity(fidelity)) {
            EXPECT_FALSE(has_simgrid());
            continue;
        }
        const auto rates = make_rates(fidelity, links);
        const auto path = rates->add_footprint(std::vector<LinkShare>{{LinkId{0}, 1}});
        const FlowId first = rates->start(Time{}, path, Bytes(1), {});
        rates->start(Time{}, path, Bytes(1), {});
        rates->settle(Time{});
        EXPECT_EQ(rates->rate(first), rate);
    }
}

}  // namespace
}  // namespace orrery
