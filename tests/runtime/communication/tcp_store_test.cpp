// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/tcp_store.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace orrery {
namespace {

using std::chrono::milliseconds;

TcpStoreClient client_of(const TcpStoreServer& server) {
    auto client = TcpStoreClient::connect("127.0.0.1", server.port(), milliseconds{5'000});
    EXPECT_TRUE(client);
    return std::move(*client);
}

TEST(TcpStore, GetWaitsUntilSomebodySets) {
    auto server = TcpStoreServer::start("127.0.0.1", 0);
    ASSERT_TRUE(server);
    TcpStoreClient early = client_of(**server);
    std::thread late{[&] {
        std::this_thread::sleep_for(milliseconds{50});
        TcpStoreClient client = client_of(**server);
        const std::string binary{"\0a\0", 3};
        EXPECT_TRUE(client.set("key", binary));
        EXPECT_EQ(client.get("key", milliseconds{5'000}), binary);
    }};
    EXPECT_EQ(early.get("key", milliseconds{5'000}), (std::string{"\0a\0", 3}));
    late.join();
}

TEST(TcpStore, WhatNobodySetsIsAnErrorInTime) {
    auto server = TcpStoreServer::start("127.0.0.1", 0);
    ASSERT_TRUE(server);
    TcpStoreClient client = client_of(**server);
    const Result<std::string> value = client.get("never", milliseconds{50});
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().what, "'never' was not set within 50 ms");
}

TEST(TcpStore, APortInUseIsAnError) {
    auto server = TcpStoreServer::start("127.0.0.1", 0);
    ASSERT_TRUE(server);
    const auto second = TcpStoreServer::start("127.0.0.1", (*server)->port());
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().what.find("Address already in use"), std::string::npos);
}

TEST(TcpStore, NobodyListeningAndUnknownHostsAreErrorsInTime) {
    std::uint16_t port = 0;
    {
        auto server = TcpStoreServer::start("127.0.0.1", 0);
        ASSERT_TRUE(server);
        port = (*server)->port();
    }
    EXPECT_FALSE(TcpStoreClient::connect("127.0.0.1", port, milliseconds{50}));
    EXPECT_FALSE(TcpStoreClient::connect("no such host", 1, milliseconds{50}));
}

TEST(TcpStore, StrangersDoNotDisturbIt) {
    auto server = TcpStoreServer::start("127.0.0.1", 0);
    ASSERT_TRUE(server);
    const int stranger = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons((*server)->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string noise = "GET / HTTP/1.1\r\n\r\n";
    ASSERT_GT(send(stranger, noise.data(), noise.size(), MSG_NOSIGNAL), 0);
    TcpStoreClient client = client_of(**server);
    EXPECT_TRUE(client.set("a", "1"));
    EXPECT_EQ(client.get("a", milliseconds{5'000}), "1");
    close(stranger);
    EXPECT_TRUE(client.set("b", "2"));
    EXPECT_EQ(client.get("b", milliseconds{5'000}), "2");
}

}  // namespace
}  // namespace orrery
