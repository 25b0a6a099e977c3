// SPDX-License-Identifier: Apache-2.0
#include "network/nccl_p2p.h"

#include <gtest/gtest.h>

#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

NcclCommunicator communicator(std::uint32_t nodes, std::uint32_t ranks, std::uint32_t channels) {
    return {.num_nodes = nodes, .num_ranks = ranks, .channels = channels};
}

TEST(NcclP2p, ChannelsAreAPowerOfTwoAndPeersShareThem) {
    // 18 links to a peer through the switch, two channels a link.
    const auto one = nccl_p2p_channels(communicator(1, 8, 24), dgx_h100(), 1, 50);
    EXPECT_EQ(one.all, 32u);
    EXPECT_EQ(one.local, 32u);
    // 14 GB/s a channel: four for a NIC of 50 GB/s, then halved until all peers fit.
    const auto four = nccl_p2p_channels(communicator(4, 32, 16), dgx_h100(), 1, 50);
    EXPECT_EQ(four.all, 16u);
    EXPECT_EQ(four.network, 4u);
    EXPECT_EQ(four.local, 4u);
    const auto many = nccl_p2p_channels(communicator(16, 128, 16), dgx_h100(), 1, 50);
    EXPECT_EQ(many.network, 1u);
    EXPECT_EQ(nccl_p2p_channels(communicator(2, 2, 4), dgx_h100(), 2, 12.5).network, 2u);
    EXPECT_EQ(nccl_p2p_channels(communicator(1, 8, 2), pcie_server(), 1, 25).local, 2u);
    EXPECT_EQ(nccl_p2p_channels(communicator(1, 72, 64), dgx_b200(), 1, 50).all, 64u);
}

TEST(NcclP2p, MessagesTakeChannelsByTheirBytes) {
    const NcclP2pChannels channels{.all = 32, .local = 32, .network = 4};
    const auto inside = [&](std::int64_t bytes) {
        return nccl_message(bytes, NcclMessagePath::nvlink, channels);
    };
    EXPECT_EQ(inside(1).protocol, NcclProtocol::ll);
    EXPECT_EQ(inside(16'384).protocol, NcclProtocol::ll);
    EXPECT_EQ(inside(16'385).protocol, NcclProtocol::simple);
    EXPECT_EQ(inside(65'536).channels, 1u);
    EXPECT_EQ(inside(65'537).channels, 2u);
    EXPECT_EQ(inside(1 << 30).channels, 32u);
    EXPECT_EQ(inside(1 << 30).chunk, 512 << 10);
    const auto far = nccl_message(1 << 30, NcclMessagePath::network, channels);
    EXPECT_EQ(far.channels, 4u);
    EXPECT_EQ(far.chunk, 128 << 10);
    EXPECT_EQ(nccl_message(1 << 19, NcclMessagePath::network, channels).channels, 2u);
    EXPECT_EQ(nccl_message(1 << 30, NcclMessagePath::pcie, channels).chunk, 128 << 10);
}

// Two ranks: 16 of 32 channels; eight: four, and up to 16 where a part would exceed 16 MiB.
TEST(NcclP2p, MessagesShareTheChannelsOfTheirCommunicator) {
    const auto inside = [](std::int64_t bytes, std::uint32_t ranks) {
        return nccl_send_channels({.bytes = Bytes{bytes}, .ranks = ranks}, false);
    };
    EXPECT_EQ(inside(1, 2), 1u);
    EXPECT_EQ(inside(65'537, 2), 2u);
    EXPECT_EQ(inside(8 << 20, 2), 16u);
    EXPECT_EQ(inside(8 << 20, 3), 8u);
    EXPECT_EQ(inside(8 << 20, 8), 4u);
    EXPECT_EQ(inside(64 << 20, 8), 4u);
    EXPECT_EQ(inside((64 << 20) + 1, 8), 8u);
    EXPECT_EQ(inside(std::int64_t{1} << 33, 8), 16u);
    EXPECT_EQ(inside(8 << 20, 64), 1u);
    EXPECT_EQ(inside(std::int64_t{1} << 33, 256), 1u);
    const auto far = [](std::int64_t bytes, std::uint32_t ranks) {
        return nccl_send_channels({.bytes = Bytes{bytes}, .ranks = ranks}, true);
    };
    EXPECT_EQ(far(1 << 18, 8), 1u);
    EXPECT_EQ(far(8 << 20, 8), 2u);
    EXPECT_EQ(far(8 << 20, 128), 1u);
}

TEST(NcclP2p, AChannelTakesEightMessagesAtATime) {
    EXPECT_EQ(nccl_batches(8, {.all = 32, .local = 32, .network = 2}, false), 1u);
    EXPECT_EQ(nccl_batches(64, {.all = 32, .local = 32, .network = 2}, false), 8u);
    EXPECT_EQ(nccl_batches(64, {.all = 16, .local = 2, .network = 2}, true), 1u);
    EXPECT_EQ(nccl_batches(128, {.all = 16, .local = 1, .network = 2}, true), 2u);
}

TEST(NcclP2p, MessagesOverANetworkWaitForItsOwnLatency) {
    const Time near = nccl_message_start_up(NcclProtocol::simple, false, true, {});
    EXPECT_NEAR(near.microseconds(), 8.4 + 3.4, 1e-6);
    const Time far = nccl_message_start_up(NcclProtocol::simple, true, true, {});
    EXPECT_NEAR(far.microseconds(), 8.4 + 14, 1e-6);
    const Time slow = nccl_message_start_up(NcclProtocol::simple, true, true, Time::seconds(5e-5));
    EXPECT_NEAR(slow.microseconds(), 8.4 + 53, 1e-6);
}

}  // namespace
}  // namespace orrery
