// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/gloo_transport.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "runtime/communication/tcp_store.h"
#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

using std::chrono::milliseconds;

Message message(bool is_send, std::uint32_t peer, std::uint64_t tag, std::span<char> bytes) {
    return {.is_send = is_send, .peer = peer, .tag = tag, .bytes = std::as_writable_bytes(bytes)};
}

TEST(GlooTransport, MatchesMessagesByTagAndOrder) {
    run_as_ranks(2, [](std::unique_ptr<Transport> transport) {
        std::array<char, 3> a{'a', 'b', 'c'};
        if (transport->rank() == 0) {
            const std::array messages{message(true, 1, 7, std::span{a}.subspan(0, 1)),
                                      message(true, 1, 8, std::span{a}.subspan(1, 1)),
                                      message(true, 1, 7, std::span{a}.subspan(2, 1))};
            EXPECT_TRUE(transport->exchange(messages));
        } else {
            std::array<char, 3> got{};
            const std::array messages{message(false, 0, 8, std::span{got}.subspan(0, 1)),
                                      message(false, 0, 7, std::span{got}.subspan(1, 1)),
                                      message(false, 0, 7, std::span{got}.subspan(2, 1))};
            EXPECT_TRUE(transport->exchange(messages));
            EXPECT_EQ(got, (std::array<char, 3>{'b', 'a', 'c'}));
        }
    });
}

TEST(GlooTransport, WhatIsSentInTheBackgroundWaitsForItsReceiver) {
    // Both send before either receives, more than sockets hold.
    run_as_ranks(2, [](std::unique_ptr<Transport> transport) {
        constexpr std::size_t kBytes = 8u << 20;
        const std::uint32_t peer = 1 - transport->rank();
        std::vector<char> mine(kBytes, static_cast<char>('0' + transport->rank()));
        ASSERT_TRUE(transport->post_send(message(true, peer, 5, mine)));
        std::ranges::fill(mine, 'x');  // it was copied
        std::vector<char> theirs(kBytes);
        const Message wanted = message(false, peer, 5, theirs);
        ASSERT_TRUE(transport->exchange({&wanted, 1}));
        EXPECT_EQ(theirs, std::vector<char>(kBytes, static_cast<char>('0' + peer)));
        EXPECT_TRUE(transport->flush());
    });
}

TEST(GlooTransport, ASilentPeerIsAnErrorWithinTheDeadline) {
    std::atomic<int> errors = 0;
    run_as_ranks(
        2,
        [&](std::unique_ptr<Transport> transport) {
            if (transport->rank() == 1) {
                while (errors == 0) {  // never sends, and does not go away
                    std::this_thread::sleep_for(milliseconds{10});
                }
                return;
            }
            std::array<char, 1> got{};
            const Message wanted = message(false, 1, 3, got);
            const Result<void> done = transport->exchange({&wanted, 1});
            ++errors;
            ASSERT_FALSE(done);
            EXPECT_NE(done.error().what.find("receiving from rank 1 failed"), std::string::npos);
        },
        milliseconds{300});
}

TEST(GlooTransport, ARankThatNeverComesIsAnErrorWithinTheDeadline) {
    const StoreFolder store;
    const auto transport = connect_gloo(
        {.rank = 0, .num_ranks = 2, .store_folder = store.path(), .timeout = milliseconds{300}});
    ASSERT_FALSE(transport);
    EXPECT_NE(transport.error().what.find("cannot connect"), std::string::npos);
}

TEST(GlooTransport, MeetsThroughATcpStore) {
    auto server = TcpStoreServer::start("127.0.0.1", 0);
    ASSERT_TRUE(server) << server.error().to_string();
    std::vector<std::thread> ranks;
    // Kept until all have connected: a rank that leaves early takes its connections with it.
    std::vector<Result<std::unique_ptr<Transport>>> transports(3);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        ranks.emplace_back([&, rank] {
            transports[rank] = connect_gloo({.rank = rank,
                                             .num_ranks = 3,
                                             .store_folder = {},
                                             .store_host = "127.0.0.1",
                                             .store_port = (*server)->port()});
        });
    }
    for (std::thread& rank : ranks) {
        rank.join();
    }
    for (const auto& transport : transports) {
        ASSERT_TRUE(transport) << transport.error().to_string();
        EXPECT_EQ((*transport)->num_ranks(), 3u);
    }
}

}  // namespace
}  // namespace orrery
