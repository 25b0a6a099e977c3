// SPDX-License-Identifier: Apache-2.0
#include "network/nccl_p2p.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "network/nccl/nccl_channel.h"

namespace orrery {
namespace {

constexpr std::uint32_t kMostChannels = 64;
constexpr std::uint32_t kMessagesOfBatch = 8;
constexpr std::int64_t kStep = 512 << 10;          // of the Simple protocol
constexpr std::int64_t kLargestPart = 32 * kStep;  // inside a node
constexpr std::uint32_t kMessageChannels = 32;
constexpr std::int64_t kLlBytesOfChannel = 16'384;
// GB/s that NCCL provides per channel to a network peer
constexpr double kNetChannelBandwidth = 14;

// The number of NVLinks between two GPUs: 25 GB/s per link and direction up to Hopper, then 50.
double links_of(const NodeSpec& node, std::uint32_t compute_capability) {
    double links =
        node.nvlink_bandwidth.gigabytes_per_second() / (compute_capability >= 100 ? 50 : 25);
    if (node.intra_node == IntraNodeKind::nvlink_mesh) {
        links /= std::max(1u, node.gpus_per_node - 1);
    }
    return links;
}

}  // namespace

NcclP2pChannels nccl_p2p_channels(const NcclCommunicator& communicator,
                                  const NodeSpec& node,
                                  std::uint32_t nics,
                                  double nic_bandwidth) {
    NcclP2pChannels channels;
    channels.all = std::min(std::bit_ceil(std::max(1u, communicator.channels)), kMostChannels);
    const bool nvlink = node.intra_node != IntraNodeKind::pcie;
    const double links = nvlink ? links_of(node, communicator.compute_capability) : 1;
    std::uint32_t local = 2 * static_cast<std::uint32_t>(std::max(1.0, links));
    auto network = static_cast<std::uint32_t>(std::ceil(nic_bandwidth / kNetChannelBandwidth));
    network = std::max({2u, nics, network});
    if (communicator.num_nodes > 1) {
        const std::uint32_t batches =
            (communicator.num_ranks + kMessagesOfBatch - 1) / kMessagesOfBatch;
        for (std::uint32_t* of_peer : {&local, &network}) {
            while (*of_peer > 1 && *of_peer * batches > channels.all) {
                *of_peer /= 2;
            }
        }
    }
    channels.local = std::min(std::bit_ceil(local), channels.all);
    channels.network = std::min(std::bit_ceil(network), channels.all);
    return channels;
}

NcclMessage nccl_message(std::int64_t bytes,
                         NcclMessagePath path,
                         const NcclP2pChannels& channels) {
    const bool network = path == NcclMessagePath::network;
    const std::uint32_t most = network ? channels.network : channels.local;
    const std::int64_t least = network ? kStep / 2 : kStep / 8;
    const auto wanted =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>((bytes + least - 1) / least, 1, most));
    NcclMessage message{.protocol = NcclProtocol::simple,
                        .channels = std::bit_floor(wanted),
                        .chunk = path == NcclMessagePath::nvlink ? kStep : kStep / 4};
    if (bytes <= std::int64_t{message.channels} * kLlBytesOfChannel) {
        message.protocol = NcclProtocol::ll;
    }
    return message;
}

std::uint32_t nccl_send_channels(const SendCall& send, bool network) {
    const std::int64_t bytes = send.bytes.count();
    const std::int64_t smallest_part = network ? kStep / 2 : kStep / 8;
    const std::uint32_t of_peer = network ? 2 : kMessageChannels;
    const std::uint32_t ranks = std::max(2u, send.ranks);
    // At most four messages share a channel if every peer has a message.
    const std::uint32_t most =
        std::clamp(std::bit_floor(4 * kMessageChannels / ranks), 1u, of_peer);
    std::uint32_t share =
        network ? most : std::clamp(std::bit_floor(kMessageChannels / ranks), 1u, of_peer);
    while (share < most && bytes > share * kLargestPart) {
        share *= 2;
    }
    const auto parts =
        std::clamp<std::int64_t>((bytes + smallest_part - 1) / smallest_part, 1, share);
    return std::bit_floor(static_cast<std::uint32_t>(parts));
}

double nccl_send_channel_bandwidth(std::uint32_t compute_capability) {
    return nccl_channel_bandwidth(NcclProtocol::ll128, compute_capability, 1) * 16 / 15;
}

std::uint32_t nccl_batches(std::uint32_t ranks, const NcclP2pChannels& channels, bool network) {
    const std::uint32_t of_peer = network ? channels.network : channels.local;
    const std::uint32_t on_channel = (ranks * of_peer + channels.all - 1) / channels.all;
    return (on_channel + kMessagesOfBatch - 1) / kMessagesOfBatch;
}

Time nccl_message_start_up(NcclProtocol p, bool network, bool nvlink, Time message) {
    const double step = nccl_step_latency_us(p, network, nvlink);
    const double own = network ? nccl_message_latency_us(p, message.microseconds()) : 0.0;
    return Time::seconds((nccl_base_latency_us(p) + std::max(step, own)) * 1e-6);
}

Bandwidth nccl_rate(double gigabytes_per_second) {
    const double bits = std::clamp(gigabytes_per_second * 8e9, 1.0, 9e18);
    return Bandwidth::bits_per_second(static_cast<std::int64_t>(bits));
}

}  // namespace orrery
