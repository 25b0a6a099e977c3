// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/tier_loads.h"

#include <gtest/gtest.h>

#include "engine/world/rate_alone.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/format/specs/node_devices.h"

namespace orrery {
namespace {

using namespace literals;

class TierLoads : public ::testing::Test {
protected:
    TierLoads() {
        ReadOptions options;
        options.network_only = true;
        options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
        const Scenario cluster =
            read_scenario_text(
                "cluster: {nodes: 2, node: dgx-h100, fabric: ndr400-rail}\n", "test", ".", options)
                .value();
        network = std::make_unique<NcclNetwork>(build_fabric(cluster.cluster).value(),
                                                nccl_options(cluster));
    }
    double seconds(TierKind kind, std::uint32_t rank, std::uint32_t holder) const {
        TransferPlan plan;
        plan.phases = {load_phase(*network, RankId{rank}, kind, RankId{holder}, 1_GB)};
        return time_without_contention(plan, network->links()).seconds();
    }
    std::unique_ptr<NcclNetwork> network;
};

// A gigabyte by the PCIe link of a GPU (48 GB/s), from eight drives of 7 GB/s, or by an adapter of
// 400 Gb/s.
TEST_F(TierLoads, ATierIsAsFastAsItsLinks) {
    EXPECT_NEAR(seconds(TierKind::dram, 3, 3), 1 / 48.0, 1e-4);
    EXPECT_NEAR(seconds(TierKind::nvme, 3, 3), 1 / 44.0, 2e-3);
    EXPECT_NEAR(seconds(TierKind::remote, 3, 11), 1 / 48.0, 2e-3);
    // The pool's part on the own server needs no network.
    EXPECT_DOUBLE_EQ(seconds(TierKind::remote, 3, 2), seconds(TierKind::dram, 3, 3));
}

TEST_F(TierLoads, AnotherServersGpuTakesNoPart) {
    const TransferPhase phase =
        load_phase(*network, RankId{3}, TierKind::remote, RankId{11}, 1_GB);
    const Fabric& fabric = network->fabric();
    bool enters = false;
    for (const TransferPart& part : phase.parts) {
        for (const LinkShare& share : part.footprint) {
            EXPECT_NE(share.link, fabric.pcie_out(RankId{11}));
            enters |= share.link == fabric.pcie_in(RankId{3});
        }
    }
    EXPECT_TRUE(enters);
}

}  // namespace
}  // namespace orrery
