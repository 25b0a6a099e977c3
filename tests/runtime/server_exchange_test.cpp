// SPDX-License-Identifier: Apache-2.0
#include "runtime/server_exchange.h"

#include <numeric>

#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

TEST(ServerExchange, ServersHaveEquallyManyMembersOneAfterTheOther) {
    const auto servers = [](std::vector<std::uint32_t> members, std::uint32_t ranks_of_node) {
        const auto found = servers_of(members, ranks_of_node);
        return found ? std::pair{found->servers, found->ranks} : std::pair{0u, 0u};
    };
    EXPECT_EQ(servers({0, 1, 2, 3}, 2), std::pair(2u, 2u));
    EXPECT_EQ(servers({0, 1, 2, 3}, 4), std::pair(1u, 4u));
    EXPECT_EQ(servers({0, 1, 2, 3}, 1), std::pair(4u, 1u));
    EXPECT_EQ(servers({1, 3, 5, 7}, 4), std::pair(2u, 2u));
    EXPECT_EQ(servers({0, 1, 2, 3}, 3), std::pair(0u, 0u));  // three on the first, one on the next
    EXPECT_EQ(servers({0, 2, 3}, 2), std::pair(0u, 0u));
}

// Elements that a member has for another one.
std::int64_t count_of(std::uint32_t from, std::uint32_t to) {
    return (from * 7 + to * 3) % 5;
}

void expect_rows_of_one_all_to_all(std::uint32_t servers, std::uint32_t ranks, ServerRoute route) {
    const std::uint32_t members = servers * ranks;
    run_as_ranks(members, [&](std::unique_ptr<Transport> transport) {
        const std::uint32_t self = transport->rank();
        std::vector<std::uint32_t> all(members);
        std::iota(all.begin(), all.end(), 0u);
        std::vector<std::uint32_t> inside;
        std::vector<std::uint32_t> across;
        std::vector<std::int64_t> sent;
        std::vector<std::int64_t> received;
        std::vector<float> own;
        for (const std::uint32_t m : all) {
            if (m / ranks == self / ranks) {
                inside.push_back(m);
            }
            if (m % ranks == self % ranks) {
                across.push_back(m);
            }
            sent.push_back(count_of(self, m));
            received.push_back(count_of(m, self));
            for (std::int64_t i = 0; i < sent.back(); ++i) {
                own.push_back(static_cast<float>(self * 1000 + m * 10) + static_cast<float>(i));
            }
        }
        const auto size = static_cast<std::size_t>(
            std::accumulate(received.begin(), received.end(), std::int64_t{0}));
        std::vector<float> plain(size);
        std::vector<float> by_servers(size);
        Communicator one{*transport, all, 1};
        ServerCommunicators two{{*transport, inside, 2}, {*transport, across, 3}};
        const ConstTensorView in = const_view_of(own);
        ASSERT_TRUE(one.all_to_all_parts(in, sent, view_of(std::span{plain}), received));
        ASSERT_TRUE(
            exchange_by_servers(route, two, in, sent, view_of(std::span{by_servers}), received));
        EXPECT_EQ(plain, by_servers);
    });
}

TEST(ServerExchange, RowsEndWhereOneAllToAllPutsThem) {
    for (const ServerRoute route : {ServerRoute::two_steps, ServerRoute::leaders}) {
        expect_rows_of_one_all_to_all(2, 2, route);
        expect_rows_of_one_all_to_all(3, 2, route);
        expect_rows_of_one_all_to_all(2, 3, route);
    }
}

}  // namespace
}  // namespace orrery
