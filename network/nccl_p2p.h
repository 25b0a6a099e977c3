// SPDX-License-Identifier: Apache-2.0
// How NCCL runs sends and receives of one group, an all_to_all among them: on how many channels, by
// which protocol and in chunks of what size (NCCL 2.28 to 2.30, src/enqueue.cc, src/init.cc and
// src/graph/paths.cc, restated from their description).
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "network/fabric/cluster_spec.h"
#include "network/nccl/nccl_tuning.h"

namespace orrery {

// Channels of a communicator's messages; powers of two.
struct NcclP2pChannels {
    std::uint32_t all = 1;      // of the communicator
    std::uint32_t local = 1;    // to a peer on the same node
    std::uint32_t network = 1;  // to a peer on another one
};
// `nics`: of a rank; `nic_bandwidth` of one in GB/s.
NcclP2pChannels nccl_p2p_channels(const NcclCommunicator& communicator,
                                  const NodeSpec& node,
                                  std::uint32_t nics,
                                  double nic_bandwidth);

// One message of a group.
struct NcclMessage {
    NcclProtocol protocol = NcclProtocol::simple;
    std::uint32_t channels = 1;  // that it is split over
    std::int64_t chunk = 0;      // bytes that move at once
};
// `path`: over a network, or PCIe or NVLink inside a node.
enum class NcclMessagePath : std::uint8_t { nvlink, pcie, network };
NcclMessage nccl_message(std::int64_t bytes, NcclMessagePath path, const NcclP2pChannels& channels);

// NCCL's all-to-alls between servers run at this share of the rate that the links allow. Measured:
// 24 GB/s of bus bandwidth over 32 A100s with NICs of 200 Gb/s, 48 over 32 H100s with 400 Gb/s
// (NVIDIA, GTC 2025, S72583); full links would give 31.0 and 61.9. Published ratios on 2 to 16
// servers are 0.52 to 0.95, by size (SimAI).
inline constexpr double kNcclAllToAllShare = 0.775;

// Rounds that a channel works off one after the other: it takes up to eight messages at a time.
std::uint32_t nccl_batches(std::uint32_t ranks, const NcclP2pChannels& channels, bool network);

// Start-up of a kernel of this protocol and one step of it; `message`: what one takes on this
// network. Simple: 11.8 us over NVLink, 22.4 us over a network; published send_recv of small
// messages: 5 to 17, and 17 to 37 us.
Time nccl_message_start_up(NcclProtocol p, bool network, bool nvlink, Time message);

// Down to whole bits a second, never zero.
Bandwidth nccl_rate(double gigabytes_per_second);

}  // namespace orrery
