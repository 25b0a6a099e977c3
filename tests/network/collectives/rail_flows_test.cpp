// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/rail_flows.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

using namespace literals;

struct Group {
    Fabric fabric;
    GroupLayout layout;
};

Group group_of(std::uint32_t nodes) {
    Fabric fabric = built(cluster_of(nodes, dgx_h100(), with_nics(400_Gbps)));
    GroupLayout layout(fabric, first_ranks(nodes * 8));
    return {std::move(fabric), std::move(layout)};
}

// Bytes out of and into each NIC: a ring all-reduce moves 2 (n - 1) / n of the vector (Patarasu and
// Yuan 2009), split over the rails.
TEST(RailFlows, EveryNicSendsAndReceivesThePublishedBytes) {
    const Group group = group_of(4);
    const double size = 32e6;
    const double n = 32;
    for (const auto& [kind, per_nic] :
         {std::pair{CollectiveKind::all_reduce, 2 * (n - 1) / n * size / 8},
          std::pair{CollectiveKind::all_gather, (n - 1) / n * size / 8},
          std::pair{CollectiveKind::reduce_scatter, (n - 1) / n * size / 8},
          std::pair{CollectiveKind::all_to_all, (n - 8) / n * size}}) {
        std::map<std::pair<std::uint32_t, std::uint32_t>, double> out;
        std::map<std::pair<std::uint32_t, std::uint32_t>, double> in;
        for (const NicFlow& flow : rail_flows(group.layout, kind, Bytes(32'000'000))) {
            EXPECT_EQ(flow.from.nic, flow.to.nic);
            EXPECT_NE(flow.from.node, flow.to.node);
            out[{flow.from.node, flow.from.nic}] += static_cast<double>(flow.bytes.count());
            in[{flow.to.node, flow.to.nic}] += static_cast<double>(flow.bytes.count());
        }
        EXPECT_EQ(out.size(), 32U);
        for (const auto& [nic, bytes] : out) {
            EXPECT_NEAR(bytes, per_nic, 4);
            EXPECT_NEAR(in[nic], per_nic, 4);
        }
    }
}

// A job on 20 GPUs of three nodes: whole nodes exchange over eight rails, with the last over four.
TEST(RailFlows, APartlyFilledNodeDoesNotLimitTheOthersExchange) {
    ClusterSpec cluster = cluster_of(3, dgx_h100(), with_nics(400_Gbps));
    cluster.use_gpus(20);
    const Fabric fabric = built(cluster);
    const GroupLayout layout(fabric, first_ranks(20));
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> flows;
    std::int64_t bytes = 0;
    for (const NicFlow& flow : rail_flows(layout, CollectiveKind::all_to_all, Bytes(20'000'000))) {
        flows[{flow.from.node, flow.to.node}] += 1;
        bytes += flow.bytes.count();
    }
    EXPECT_EQ((flows[{0, 1}]), 8u);
    EXPECT_EQ((flows[{1, 0}]), 8u);
    EXPECT_EQ((flows[{0, 2}]), 4u);
    EXPECT_EQ((flows[{2, 1}]), 4u);
    EXPECT_EQ(bytes, 20'000'000 / 20 * (2 * 8 * 8 + 4 * 8 * 4));
}

TEST(RailFlows, OneNodeSendsNothing) {
    EXPECT_TRUE(rail_flows(group_of(1).layout, CollectiveKind::all_reduce, Bytes(1 << 20)).empty());
}

}  // namespace
}  // namespace orrery
