// SPDX-License-Identifier: Apache-2.0
// NCCL's execution of sends and receives of one group, including all_to_all: its channels, protocol
// and chunk sizes (NCCL 2.28 to 2.30, src/enqueue.cc, src/init.cc and src/graph/paths.cc, restated
// from their description).
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "engine/program/transfer_call.h"
#include "network/fabric/cluster_spec.h"
#include "network/nccl/nccl_tuning.h"

namespace orrery {

// Numbers of channels for a communicator's messages; powers of two.
struct NcclP2pChannels {
    std::uint32_t all = 1;      // of the communicator
    std::uint32_t local = 1;    // to a peer on the same node
    std::uint32_t network = 1;  // to a peer on another node
};
// `nics` is the number of a rank's NICs; `nic_bandwidth` is that of one, in GB/s.
NcclP2pChannels nccl_p2p_channels(const NcclCommunicator& communicator,
                                  const NodeSpec& node,
                                  std::uint32_t nics,
                                  double nic_bandwidth);

// One message of a group.
struct NcclMessage {
    NcclProtocol protocol = NcclProtocol::simple;
    std::uint32_t channels = 1;  // channels that share the message
    std::int64_t chunk = 0;      // bytes that move at once
};
// Over a network, or over PCIe or NVLink inside a node.
enum class NcclMessagePath : std::uint8_t { nvlink, pcie, network };
NcclMessage nccl_message(std::int64_t bytes, NcclMessagePath path, const NcclP2pChannels& channels);

// Channels of one message between two ranks, the same at both. NCCL shares the channels of messages
// among the peers of the communicator. A message takes more than its share if a part would be
// larger than 32 steps, and fewer if parts would be smaller than an eighth of a step (inside a
// node) or a half (over a network): scheduleP2pTasksToPlan() and calcP2pChunkSize() of enqueue.cc.
// Assumption: a communicator has 32 channels for messages, a network peer at most 2.
std::uint32_t nccl_send_channels(const SendCall& send, bool network);

// GB/s of one channel of a message inside a node: a block copies as fast as in LL128, where 15 of
// 16 bytes are data (nccl/nccl_channel.h).
double nccl_send_channel_bandwidth(std::uint32_t compute_capability);

// The fraction of the links' rate that NCCL's all-to-alls between servers reach. Measured: 24 GB/s
// of bus bandwidth over 32 A100s with NICs of 200 Gb/s, 48 over 32 H100s with 400 Gb/s (NVIDIA, GTC
// 2025, S72583); full links would give 31.0 and 61.9. Published ratios on 2 to 16 servers are 0.52
// to 0.95, depending on size (SimAI).
inline constexpr double kNcclAllToAllShare = 0.775;

// The number of rounds that a channel processes in sequence: it handles up to eight messages at a
// time.
std::uint32_t nccl_batches(std::uint32_t ranks, const NcclP2pChannels& channels, bool network);

// Start-up of a kernel of this protocol and one step of it. `message` is the network's own time per
// message. Simple: 11.8 us over NVLink, 22.4 us over a network. Published send_recv of small
// messages take 5 to 17, and 17 to 37 us.
Time nccl_message_start_up(NcclProtocol p, bool network, bool nvlink, Time message);

// Rounded down to whole bits a second, but never zero.
Bandwidth nccl_rate(double gigabytes_per_second);

}  // namespace orrery
