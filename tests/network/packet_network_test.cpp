// SPDX-License-Identifier: Apache-2.0
#include "network/packet_network.h"

#include <gtest/gtest.h>

#include "tests/network/dgx_clusters.h"
#include "tests/network/exchange_traffic.h"

namespace orrery {
namespace {

using namespace literals;

constexpr Bytes kMessage{1'000'000};

ClusterSpec cluster() {
    ClusterSpec spec = ecmp_cluster(8, dgx_h100());
    spec.fabric.link_latency = 1_us;
    return spec;
}

TEST(PacketNetwork, TakesOffWhatALonePacketCostsAndKeepsTheBytes) {
    const NcclNetwork plain(built(cluster()), {});
    const NcclNetwork numbered(built(cluster()), {.number_connections = true});
    const auto network =
        PacketNetwork::make(numbered,
                            packet::Topology::build(built(cluster())).value(),
                            packet::published_parameters(packet::CongestionKind::nscc));
    ASSERT_TRUE(network);
    const auto before = plain.plan(SendCall{kMessage}, std::array{RankId{0}, RankId{40}});
    const auto after = network->plan(SendCall{kMessage}, std::array{RankId{0}, RankId{40}});
    // Four links there and back of 1 us each, the packet over three more and its ACK over four.
    const Time wires = 8_us + Bytes{4150 * 3 + 64 * 4} / 400_Gbps;
    const Time off = before.phases[0].latency - after.phases[0].latency;
    EXPECT_NEAR(off.microseconds(), wires.microseconds(), 0.2);
    Bytes sum;
    for (const TransferPart& part : after.phases[0].parts) {
        for (const LinkShare& share : part.footprint) {
            sum += network->is_connection(share.link) ? part.bytes * std::int64_t{share.count}
                                                      : Bytes{};
        }
    }
    EXPECT_EQ(sum, kMessage);
}

// The plan of an exchange is the fluid one, with the same connections and bytes.
TEST(PacketNetwork, ExchangesKeepTheirPlan) {
    const NcclNetwork numbered(built(cluster()), {.number_connections = true});
    const auto network =
        PacketNetwork::make(numbered,
                            packet::Topology::build(built(cluster())).value(),
                            packet::published_parameters(packet::CongestionKind::nscc));
    ASSERT_TRUE(network);
    const std::vector<std::int64_t> bytes(16 * 16, 1'000'000);
    const Exchange exchange = exchange_of_bytes(16, 2, bytes);
    const auto fluid = numbered.plan_exchange(exchange, first_ranks(16));
    const auto packets = network->plan_exchange(exchange, first_ranks(16));
    ASSERT_EQ(packets.phases.size(), 1u);
    EXPECT_EQ(packets.phases[0].parts, fluid.phases[0].parts);
    EXPECT_LT(packets.phases[0].latency, fluid.phases[0].latency);
    std::size_t connections = 0;
    for (const LinkShare& share : packets.phases[0].parts[0].footprint) {
        connections += network->is_connection(share.link) ? 1 : 0;
    }
    EXPECT_EQ(connections, 2u * 8 * 8);
}

TEST(PacketNetwork, WhatCarriesPacketsIsWatchedAndOffersTheirPayload) {
    Fabric fabric = built(cluster());
    const LinkId slow = fabric.nic_out({.node = 3, .nic = 2});
    fabric.set_capacity(slow, 100_Gbps);
    const NcclNetwork nccl(std::move(fabric), {.number_connections = true});
    const auto network =
        PacketNetwork::make(nccl,
                            packet::Topology::build(built(cluster())).value(),
                            packet::published_parameters(packet::CongestionKind::nscc));
    ASSERT_TRUE(network);
    const std::size_t own = nccl.fabric().links().size();
    EXPECT_EQ(network->links().size(), own);
    (void)network->plan(SendCall{kMessage}, std::array{RankId{0}, RankId{40}});
    EXPECT_GT(network->links().size(), own);  // connections that were opened
    EXPECT_EQ(network->links().size(), network->fluid_links().size());
    const LinkInfo& nic = network->links()[index(nccl.fabric().nic_out({.node = 0, .nic = 0}))];
    EXPECT_TRUE(nic.watched);
    EXPECT_NEAR(nic.capacity.gigabytes_per_second(), 50 * 4086.0 / 4150, 1e-6);
    EXPECT_NEAR(
        network->links()[index(slow)].capacity.gigabytes_per_second(), 12.5 * 4086.0 / 4150, 1e-6);
    EXPECT_FALSE(network->links()[index(nccl.fabric().nvlink_out(RankId{0}))].watched);
    EXPECT_EQ(network->topology().port(network->topology().port_of(slow)).rate, 100_Gbps);
}

}  // namespace
}  // namespace orrery
