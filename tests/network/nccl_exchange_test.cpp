// SPDX-License-Identifier: Apache-2.0
// Exchanges on links: what they carry, what limits them, and that fluid and packets see the same.
#include <gtest/gtest.h>

#include "engine/world/rate_alone.h"
#include "network/nccl_network.h"
#include "tests/network/dgx_clusters.h"
#include "tests/network/exchange_traffic.h"

namespace orrery {
namespace {

constexpr Bandwidth kNic400 = Bandwidth::bits_per_second(400'000'000'000);

NcclNetwork nodes(std::uint32_t count, bool numbered = false) {
    NodeSpec node = dgx_h100();
    node.nvlink_efficiency = 0.824;
    return {built(cluster_of(count, node, with_nics(kNic400))),
            {.compute_capability = 90, .num_sms = 132, .number_connections = numbered}};
}

double seconds(const NcclNetwork& network, const TransferPlan& plan) {
    Time latency;
    for (const TransferPhase& phase : plan.phases) {
        latency += phase.latency;
    }
    return (time_without_contention(plan, network.links()) - latency).seconds();
}

Exchange routed(const char* dispatcher, std::uint32_t servers, std::int64_t row) {
    return {.dispatcher = find_dispatcher(dispatcher),
            .rows = expected_rows({.ranks = 8 * servers,
                                   .servers = servers,
                                   .experts = 256,
                                   .choices = 8,
                                   .tokens = 4096}),
            .row = Bytes{row}};
}

// NCCL's own all-to-all stays below what the NICs would allow, collective and exchange alike,
// between servers only. Libraries that send by themselves have figures of their own.
TEST(NcclExchange, NcclTakesAShareOfTheNics) {
    const auto with_share = [](std::uint32_t servers, double share) {
        return NcclNetwork{built(cluster_of(servers, dgx_h100(), with_nics(kNic400))),
                           {.compute_capability = 90, .num_sms = 132, .all_to_all_share = share}};
    };
    for (const std::uint32_t servers : {1u, 4u}) {
        const auto members = first_ranks(8 * servers);
        const NcclNetwork whole = with_share(servers, 1);
        const NcclNetwork half = with_share(servers, 0.5);
        const double longer = servers > 1 ? 2 : 1;
        CollectiveCall call;
        call.kind = CollectiveKind::all_to_all;
        call.bytes = Bytes(std::int64_t{8} * servers * 8'000'000);
        EXPECT_NEAR(
            seconds(half, half.plan(call, members)) / seconds(whole, whole.plan(call, members)),
            longer,
            1e-3);
        const auto slower = [&](const char* dispatcher) {
            const Exchange exchange = routed(dispatcher, servers, 7168 * 2);
            return seconds(half, half.plan_exchange(exchange, members)) /
                   seconds(whole, whole.plan_exchange(exchange, members));
        };
        EXPECT_NEAR(slower("alltoall"), longer, 1e-3);
        EXPECT_EQ(slower("deepep"), 1);
        EXPECT_EQ(slower("host_driven"), 1);
    }
}

// The same as the collective where all pairs are alike.
TEST(NcclExchange, EvenPairsAreAnAllToAll) {
    for (const std::uint32_t servers : {1u, 4u}) {
        const NcclNetwork network = nodes(servers);
        const auto members = first_ranks(8 * servers);
        const std::size_t n = members.size();
        CollectiveCall call;
        call.kind = CollectiveKind::all_to_all;
        call.bytes = Bytes(static_cast<std::int64_t>(n) * 8'000'000);
        const Exchange exchange = exchange_of_bytes(
            static_cast<std::uint32_t>(n), servers, std::vector<std::int64_t>(n * n, 8'000'000));
        const double even = seconds(network, network.plan(call, members));
        const double pairs = seconds(network, network.plan_exchange(exchange, members));
        EXPECT_NEAR(pairs / even, 1, 1e-4) << servers;
    }
}

// A Program's call names its library; the network then plans that library's exchange.
TEST(NcclExchange, ACallWithRowsIsItsDispatchersExchange) {
    const NcclNetwork network = nodes(4);
    const auto members = first_ranks(32);
    std::uint8_t number = 0;
    for (const Dispatcher& by : dispatchers()) {
        CollectiveCall call;
        call.kind = CollectiveKind::all_to_all;
        call.bytes = Bytes{4096 * 8 * 7168 * 2};
        call.rows = {.dispatcher = ++number,
                     .choices = 8,
                     .experts = 256,
                     .tokens = 4096,
                     .row = Bytes{7168 * 2}};
        const TransferPlan plan = network.plan(call, members);
        if (by.route == DispatchRoute::everyone) {
            EXPECT_EQ(plan.algorithm, "p2p");
            continue;
        }
        const TransferPlan exchange =
            network.plan_exchange(routed(std::string(by.name).c_str(), 4, 7168 * 2), members);
        EXPECT_EQ(plan.algorithm, by.name);
        EXPECT_EQ(plan.phases, exchange.phases) << by.name;
        EXPECT_EQ(network.plan(call, members).phases, plan.phases);
    }
}

// DeepSeek-V3's 8 experts of a token are on 5.29 of 8 drawn ranks, and on one if they follow each
// other.
TEST(NcclExchange, ConsecutiveExpertsMoveFewerRows) {
    CollectiveCall call;
    call.kind = CollectiveKind::all_to_all;
    call.bytes = Bytes{4096 * 8 * 7168 * 2};
    call.rows = {.dispatcher = static_cast<std::uint8_t>(find_dispatcher("deepep") -
                                                         dispatchers().data() + 1),
                 .choices = 8,
                 .experts = 256,
                 .tokens = 4096,
                 .row = Bytes{14336}};
    const auto seconds_on = [&](std::uint32_t servers, bool consecutive) {
        const NcclNetwork network = nodes(servers);
        call.rows.consecutive = consecutive;
        return seconds(network, network.plan(call, first_ranks(8 * servers)));
    };
    EXPECT_NEAR(seconds_on(1, false) / seconds_on(1, true), 5.29465, 0.2);
    EXPECT_GT(seconds_on(2, false) / seconds_on(2, true), 1.9);  // of servers 1.993 and 1
}

TEST(NcclExchange, AHotRankHoldsTheOthersUp) {
    const NcclNetwork network = nodes(1);
    const auto members = first_ranks(8);
    CollectiveCall call;
    call.kind = CollectiveKind::all_to_all;
    call.bytes = Bytes{4096 * 8 * 7168 * 2};
    call.rows = {
        .dispatcher = 1, .choices = 8, .experts = 256, .tokens = 4096, .row = Bytes{14336}};
    const double even = seconds(network, network.plan(call, members));
    call.rows.shares.assign(8, 100'000);
    call.rows.shares[3] = 300'000;
    EXPECT_GT(seconds(network, network.plan(call, members)), 1.5 * even);
}

// One rank that sends twice as much holds the others up; one that gets nothing relieves no other.
TEST(NcclExchange, TheFullestPortDecides) {
    const NcclNetwork network = nodes(1);
    const auto members = first_ranks(8);
    std::vector<std::int64_t> bytes(64, 8'000'000);
    const double even =
        seconds(network, network.plan_exchange(exchange_of_bytes(8, 1, bytes), members));
    EXPECT_NEAR(even, 64e6 / 370.8e9, 1e-8);
    for (std::size_t to = 0; to < 8; ++to) {
        bytes[3 * 8 + to] *= 2;
    }
    const double hot =
        seconds(network, network.plan_exchange(exchange_of_bytes(8, 1, bytes), members));
    EXPECT_NEAR(hot / even, 2, 1e-3);
    std::vector<std::int64_t> none(64, 8'000'000);
    for (std::size_t from = 0; from < 8; ++from) {
        none[from * 8 + 5] = 0;
    }
    EXPECT_NEAR(seconds(network, network.plan_exchange(exchange_of_bytes(8, 1, none), members)),
                even,
                1e-8);
}

// The bytes of the connections between NICs, which packets carry, are the exchange's own.
TEST(NcclExchange, ConnectionsCarryTheSameBytes) {
    for (const char* name :
         {"alltoall", "2dh", "hierarchical", "deepep", "hybridep", "host_driven"}) {
        const NcclNetwork network = nodes(2, true);
        const auto members = first_ranks(16);
        const Exchange exchange = routed(name, 2, 14'336);
        const TransferPlan plan = network.plan_exchange(exchange, members);
        const std::size_t first = network.fabric().links().size();
        double carried = 0;
        for (const TransferPhase& phase : plan.phases) {
            for (const TransferPart& part : phase.parts) {
                for (const LinkShare& share : part.footprint) {
                    carried += index(share.link) >= first
                                   ? static_cast<double>(part.bytes.count()) * share.count
                                   : 0.0;
                }
            }
        }
        EXPECT_NEAR(carried / (16 * traffic_of(exchange).network_bytes), 1, 1e-4) << name;
        EXPECT_GT(network.connections().size(), 0u);
    }
}

TEST(NcclExchange, RowsOncePerServerSpareTheAdapters) {
    const NcclNetwork network = nodes(4);
    const auto members = first_ranks(32);
    const double flat =
        seconds(network, network.plan_exchange(routed("alltoall", 4, 14'336), members));
    const double two =
        seconds(network, network.plan_exchange(routed("deepep", 4, 14'336), members));
    const double nic = 50e9;
    EXPECT_NEAR(flat, 4096 * 8 * 0.75 * 14'336 / nic, flat * 1e-3);
    const double reached = find_dispatcher("deepep")->network_share * nic;
    EXPECT_NEAR(two, 4096 * 3.61421 * 0.75 * 14'336 / reached, two * 1e-3);
    // One adapter of eight.
    const double leaders =
        seconds(network, network.plan_exchange(routed("hierarchical", 4, 14'336), members));
    EXPECT_GT(leaders, 8 * flat);
}

TEST(NcclExchange, FewerSmsAreSlowerAndHostsHoldNone) {
    const NcclNetwork network = nodes(1);
    const auto members = first_ranks(8);
    Exchange exchange = routed("deepep", 1, 14'336);
    const TransferPlan usual = network.plan_exchange(exchange, members);
    EXPECT_EQ(usual.sms, 20u);
    exchange.sm_limit = 4;
    const TransferPlan few = network.plan_exchange(exchange, members);
    EXPECT_EQ(few.sms, 4u);
    EXPECT_GT(seconds(network, few), 2 * seconds(network, usual));
    const TransferPlan host = network.plan_exchange(routed("host_driven", 1, 14'336), members);
    EXPECT_EQ(host.sms, 0u);
    EXPECT_EQ(host.engine, TransferEngine::host);
    // NCCL's channels carry a rank's own part, a host does not.
    const TransferPlan nccl = network.plan_exchange(routed("alltoall", 1, 14'336), members);
    EXPECT_NEAR(seconds(network, nccl) / seconds(network, host), 8.0 / 7, 1e-3);
    EXPECT_EQ(nccl.channels, 32u);
}

TEST(NcclExchange, GatheringIsAnAllGather) {
    const NcclNetwork network = nodes(1);
    const auto members = first_ranks(8);
    const Exchange exchange = routed("allgather", 1, 14'336);
    const TransferPlan plan = network.plan_exchange(exchange, members);
    CollectiveCall call;
    call.kind = CollectiveKind::all_gather;
    call.bytes = Bytes(std::int64_t{8} * 4096 * 14'336);
    EXPECT_EQ(plan.phases, network.plan(call, members).phases);
}

// Before and after, seven peers add to one flag, one after the other, over two links.
TEST(NcclExchange, BarriersGrowWithTheDomain) {
    NodeSpec node = dgx_h100();
    node.nvlink_latency = Time::picoseconds(350'000);
    const NcclNetwork network(built(cluster_of(1, node, with_nics(kNic400))), {});
    const auto members = first_ranks(8);
    const Time with = network.plan_exchange(routed("hybridep", 1, 64), members).phases[0].latency;
    const Time without = network.plan_exchange(routed("deepep", 1, 64), members).phases[0].latency;
    EXPECT_NEAR((with - without).microseconds(), 2 * 7 * 2 * 0.35, 1e-6);
}

}  // namespace
}  // namespace orrery
