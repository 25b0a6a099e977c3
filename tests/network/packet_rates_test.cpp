// SPDX-License-Identifier: Apache-2.0
// Transfers as packets: alone they take what fluid says, together they share a link, and a window
// that opens or closes in the middle of them moves what is left of them.
#include "network/packet_rates.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

using namespace literals;

constexpr double kHeaders = 4086.0 / 4150;  // payload of a packet

struct Wire {
    explicit Wire(ClusterSpec cluster, packet::CongestionKind kind = packet::CongestionKind::nscc) {
        cluster.fabric.efficiency = kHeaders;
        cluster.fabric.link_latency = 1_us;
        cluster.fabric.nic_latency = 500_ns;
        auto topology = packet::Topology::build(built(cluster));
        EXPECT_TRUE(topology.has_value());
        nccl = std::make_unique<NcclNetwork>(built(cluster),
                                             NcclNetworkOptions{.number_connections = true});
        auto parameters = packet::published_parameters(kind);
        parameters.spray = packet::SprayKind::single;
        auto made = PacketNetwork::make(*nccl, std::move(*topology), parameters);
        EXPECT_TRUE(made.has_value());
        network = std::make_unique<PacketNetwork>(std::move(*made));
    }
    std::unique_ptr<NcclNetwork> nccl;
    std::unique_ptr<PacketNetwork> network;
};

// All transfers begin at 0, each with one phase. The end of each.
std::vector<Time> ends(SharedRates& rates, const std::vector<TransferPlan>& plans) {
    std::vector<Time> ends(plans.size());
    std::multimap<Time, std::pair<std::size_t, const TransferPart*>> starts;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        EXPECT_EQ(plans[i].phases.size(), 1U);
        for (const TransferPart& part : plans[i].phases[0].parts) {
            starts.emplace(plans[i].phases[0].latency, std::pair{i, &part});
        }
    }
    std::map<FlowId, std::size_t> flows;
    std::vector<FlowId> ended;
    while (!starts.empty() || !flows.empty()) {
        const Time start = starts.empty() ? Time::max() : starts.begin()->first;
        const Time now = std::min(start, rates.run_until(start));
        EXPECT_LT(now, Time::max());
        if (rates.next_completion() == now) {
            rates.pop_completed(now, ended);
            for (const FlowId flow : ended) {
                ends[flows.at(flow)] = now;
                flows.erase(flow);
            }
        }
        while (!starts.empty() && starts.begin()->first == now) {
            const auto [i, part] = starts.begin()->second;
            const FootprintId footprint = rates.add_footprint(part->footprint);
            flows[rates.start(now, footprint, part->bytes, part->rate_max)] = i;
            starts.erase(starts.begin());
        }
        rates.settle(now);
    }
    return ends;
}

std::vector<Time> ends(const Wire& wire,
                       const std::vector<TransferPlan>& plans,
                       std::optional<PacketWindow> window) {
    PacketRates rates(*wire.network, window);
    return ends(rates, plans);
}

TEST(PacketRates, ALoneMessageTakesWhatFluidSays) {
    const Wire wire(ecmp_cluster(8, dgx_h100()));
    for (const std::uint32_t to : {8U, 40U}) {  // under the same leaves, and elsewhere
        for (const Bytes bytes : {Bytes{100'000}, Bytes{10'000'000}}) {
            const auto plan =
                wire.network->plan(SendCall{bytes}, std::array{RankId{0}, RankId{to}});
            const Time fair = ends(wire, {plan}, std::nullopt)[0];
            const Time packets = ends(wire, {plan}, PacketWindow{})[0];
            // Channels of one message may share a path, and take turns there.
            EXPECT_NEAR(packets.microseconds(), fair.microseconds(), 1 + 0.01 * fair.microseconds())
                << to << " " << bytes.count();
        }
    }
}

TEST(PacketRates, ALoneCollectiveTakesWhatFluidSays) {
    const Wire wire(cluster_of(4, dgx_h100(), with_nics(400_Gbps)));
    const CollectiveCall call{.bytes = Bytes{64'000'000}};
    const auto plan = wire.network->plan(call, first_ranks(32));
    const Time fair = ends(wire, {plan}, std::nullopt)[0];
    const Time packets = ends(wire, {plan}, PacketWindow{})[0];
    EXPECT_GT(packets / fair, 0.99);
    EXPECT_NEAR(packets / fair, 1, 0.05);
}

TEST(PacketRates, TwoOnOneNicTakeTwiceAsLong) {
    const Wire wire(cluster_of(3, dgx_h100(), with_nics(400_Gbps)));
    const Bytes bytes{20'000'000};
    const std::vector<TransferPlan> plans = {
        wire.network->plan(SendCall{bytes}, std::array{RankId{8}, RankId{0}}),
        wire.network->plan(SendCall{bytes}, std::array{RankId{16}, RankId{0}})};
    const Time alone = ends(wire, {plans[0]}, PacketWindow{})[0];
    const auto both = ends(wire, plans, PacketWindow{});
    EXPECT_NEAR(std::max(both[0], both[1]) / alone, 2, 0.15);
    EXPECT_GT(std::min(both[0], both[1]) / alone, 1.5);
}

TEST(PacketRates, AWindowMovesWhatIsLeft) {
    const Wire wire(ecmp_cluster(8, dgx_h100()));
    const Bytes bytes{20'000'000};  // some 400 us
    std::vector<TransferPlan> plans;
    for (std::uint32_t r = 0; r < 8; ++r) {
        plans.push_back(wire.network->plan(SendCall{bytes}, std::array{RankId{r}, RankId{40 + r}}));
    }
    const auto fair = ends(wire, plans, std::nullopt);
    const auto all = ends(wire, plans, PacketWindow{});
    const PacketWindow middle{.begin = 100_us, .end = 250_us};
    PacketRates rates(*wire.network, middle);
    const auto some = ends(rates, plans);
    for (std::size_t i = 0; i < plans.size(); ++i) {
        const double low = std::min(fair[i], all[i]).microseconds();
        const double high = std::max(fair[i], all[i]).microseconds();
        EXPECT_GT(some[i].microseconds(), 0.97 * low) << i;
        EXPECT_LT(some[i].microseconds(), 1.05 * high) << i;
    }
    const PacketUse use = rates.use();
    // 150 us of eight NICs at most, and nearly all of that.
    const double most = 8 * 150e-6 * 50e9 / 4150;
    EXPECT_LT(static_cast<double>(use.totals.data_packets), 1.05 * most);
    EXPECT_GT(static_cast<double>(use.totals.data_packets), 0.5 * most);
    EXPECT_EQ(rates.started().size(), 16U);  // two channels each
}

TEST(PacketRates, InsideAServerNothingIsAPacket) {
    const Wire wire(cluster_of(2, dgx_h100(), with_nics(400_Gbps)));
    const auto plan =
        wire.network->plan(SendCall{Bytes{1'000'000}}, std::array{RankId{0}, RankId{5}});
    PacketRates rates(*wire.network, PacketWindow{});
    const auto packets = ends(rates, {plan});
    EXPECT_EQ(packets, ends(wire, {plan}, std::nullopt));
    EXPECT_EQ(rates.use().totals.data_packets, 0);
    EXPECT_TRUE(rates.started().empty());
}

}  // namespace
}  // namespace orrery
