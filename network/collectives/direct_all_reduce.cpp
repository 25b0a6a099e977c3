// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/direct_all_reduce.h"

namespace orrery {

namespace {

// vLLM's limits: csrc/custom_all_reduce.cuh and distributed/device_communicators.
constexpr std::int64_t kMostRanks = 8;
constexpr std::int64_t kMostBytes = 8 << 20;
constexpr std::int64_t kOneShotOfFour = 512 << 10;
constexpr std::int64_t kOneShotOfEight = 256 << 10;

// The fraction of the raw NVLink rate that SMs reach when they load from peers: 0.58 to 0.62 in
// AIConfigurator's tables of 2 to 8 H100 and A100 at 256 KiB to 4 MiB.
constexpr double kLoadShare = 0.6;
// Before and after the work each GPU writes a flag to every peer and waits for theirs. The write
// passes two links, and its release at system scope takes about as long again. Two shots also
// publish their sums in between, and all SMs wait for that.
constexpr int kLinksOfBarrier = 3;
constexpr int kLinksOfPublishing = 12;

bool one_shot(std::int64_t ranks, std::int64_t bytes) {
    return ranks == 2 || bytes < (ranks <= 4 ? kOneShotOfFour : kOneShotOfEight);
}

}  // namespace

std::optional<Time> direct_all_reduce_time(const NodeSpec& node,
                                           std::int64_t ranks,
                                           Bytes bytes,
                                           Time kernel_latency) {
    const bool nvlink = node.intra_node != IntraNodeKind::pcie;
    const bool within = ranks <= static_cast<std::int64_t>(node.gpus_per_node);
    if (ranks < 2 || ranks > kMostRanks || bytes.count() > kMostBytes || !nvlink || !within ||
        (ranks > 2 && node.intra_node != IntraNodeKind::nvswitch)) {
        return std::nullopt;
    }
    const double rate =
        static_cast<double>(node.nvlink_bandwidth.bits_per_second()) / 8 * kLoadShare;
    const double size = static_cast<double>(bytes.count());
    const double peers = static_cast<double>(ranks - 1);
    const Time ends = kernel_latency + node.nvlink_latency * (2 * kLinksOfBarrier);
    if (one_shot(ranks, bytes.count())) {
        return ends + Time::seconds(peers * size / rate);
    }
    return ends + node.nvlink_latency * kLinksOfPublishing +
           Time::seconds(2 * peers / static_cast<double>(ranks) * size / rate);
}

}  // namespace orrery
