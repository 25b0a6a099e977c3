// SPDX-License-Identifier: Apache-2.0
// What the dispatchers send, without any network.
#include "network/exchange.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/network/exchange_traffic.h"

namespace orrery {
namespace {

constexpr std::int64_t kMessageBytes = 1 << 20;

Exchange deepseek(const char* dispatcher, std::int64_t row, double tokens = 1) {
    return {.dispatcher = find_dispatcher(dispatcher),
            .rows = expected_rows({.ranks = 64,
                                   .servers = 8,
                                   .experts = 256,
                                   .choices = 8,
                                   .server_limit = 4,
                                   .tokens = tokens}),
            .row = Bytes{row}};
}

// 64 MiB of each of 64 GPUs, 8 to a server (Tutel's example).
Exchange even(const char* dispatcher) {
    Exchange exchange = exchange_of_bytes(64, 8, std::vector<std::int64_t>(64 * 64, kMessageBytes));
    exchange.dispatcher = find_dispatcher(dispatcher);
    return exchange;
}

TEST(Exchange, TwoStepsSendFewerAndLargerMessages) {
    const ExchangeTraffic flat = traffic_of(even("alltoall"));
    EXPECT_DOUBLE_EQ(flat.network_messages, 56);
    EXPECT_DOUBLE_EQ(flat.network_bytes, 56 * kMessageBytes);
    EXPECT_DOUBLE_EQ(flat.inside_bytes, 7 * kMessageBytes);
    const ExchangeTraffic two = traffic_of(even("2dh"));
    EXPECT_DOUBLE_EQ(two.network_messages, 7);
    EXPECT_DOUBLE_EQ(two.network_bytes, 56 * kMessageBytes);
    EXPECT_DOUBLE_EQ(two.inside_messages, 7);
    EXPECT_DOUBLE_EQ(two.inside_bytes, 56 * kMessageBytes);
    const auto phases = exchange_phases(even("2dh"));
    ASSERT_EQ(phases.size(), 2u);
    for (const ExchangePhase& phase : phases) {
        for (const ExchangeMessage& message : phase.messages) {
            EXPECT_DOUBLE_EQ(message.bytes, 8 * kMessageBytes);
        }
    }
}

TEST(Exchange, LeadersUseOneAdapterAServer) {
    const auto phases = exchange_phases(even("hierarchical"));
    ASSERT_EQ(phases.size(), 3u);
    std::size_t across = 0;
    for (const ExchangeMessage& message : phases[1].messages) {
        EXPECT_EQ(message.from % 8, 0u);
        EXPECT_EQ(message.to % 8, 0u);
        EXPECT_DOUBLE_EQ(message.bytes, 64 * kMessageBytes);
        ++across;
    }
    EXPECT_EQ(across, 8u * 7);
}

TEST(Exchange, TwoLevelsSendARowOnceToEachServer) {
    const ExchangeTraffic fp8 = traffic_of(deepseek("deepep", 7392));
    EXPECT_NEAR(fp8.network_bytes, 23'472.4, 0.1);
    EXPECT_NEAR(fp8.network_bytes * 8 / 7, 26'825.6, 0.1);
    Exchange back = deepseek("deepep", 14'336);
    back.combine = true;
    EXPECT_NEAR(traffic_of(back).network_bytes * 8 / 7, 52'025.5, 0.1);
    EXPECT_EQ(fp8.sms, 20u);
    EXPECT_TRUE(fp8.host_sync);
    EXPECT_DOUBLE_EQ(fp8.network_messages, 7);
    // Seven of eight choices leave the server if each choice is sent.
    EXPECT_NEAR(traffic_of(deepseek("alltoall", 7392)).network_bytes, 7 * 7392, 1e-6);
    const ExchangeTraffic low = traffic_of(deepseek("deepep_low_latency", 7392));
    EXPECT_NEAR(low.network_bytes, 7 * 7408, 1e-6);
    EXPECT_EQ(low.sms, 0u);
}

// HybridEP sends an FP32 probability for every expert of the server beside each row, and sums
// without them.
TEST(Exchange, ProbabilitiesTravelOutOnly) {
    Exchange exchange = deepseek("hybridep", 7392);
    EXPECT_DOUBLE_EQ(wire_bytes(exchange), 7392 + 4 * 256 / 8);
    exchange.combine = true;
    EXPECT_DOUBLE_EQ(wire_bytes(exchange), 7392);
    EXPECT_DOUBLE_EQ(wire_bytes(deepseek("deepep", 7392)), 7392);
}

TEST(Exchange, EveryoneGetsAllTokensWhateverTheRouter) {
    const ExchangeTraffic all = traffic_of(deepseek("allgather", 100, 4));
    EXPECT_NEAR(all.network_bytes + all.inside_bytes, 63 * 400, 1e-6);
    EXPECT_TRUE(exchange_phases(deepseek("allgather", 100)).empty());
}

// What arrives is what was sent for each receiver, by whichever way.
TEST(Exchange, RowsArriveWhereTheyBelong) {
    std::vector<std::int64_t> bytes(16 * 16);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::int64_t>(i * i % 97);
    }
    for (const char* name : {"alltoall", "hierarchical", "2dh", "host_driven"}) {
        Exchange exchange = exchange_of_bytes(16, 4, bytes);
        exchange.dispatcher = find_dispatcher(name);
        for (const bool combine : {false, true}) {
            exchange.combine = combine;
            std::map<std::uint32_t, double> balance;  // in less out
            for (const ExchangePhase& phase : exchange_phases(exchange)) {
                for (const ExchangeMessage& message : phase.messages) {
                    balance[message.to] += message.bytes;
                    balance[message.from] -= message.bytes;
                }
            }
            for (std::uint32_t rank = 0; rank < 16; ++rank) {
                double due = 0;
                for (std::uint32_t other = 0; other < 16; ++other) {
                    due += static_cast<double>(bytes[other * 16 + rank] - bytes[rank * 16 + other]);
                }
                EXPECT_DOUBLE_EQ(balance[rank], combine ? -due : due) << name << ' ' << rank;
            }
        }
    }
}

}  // namespace
}  // namespace orrery
