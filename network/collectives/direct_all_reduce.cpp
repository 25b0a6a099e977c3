// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/direct_all_reduce.h"

#include <algorithm>

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
// On NVLink 5 flags take 2.5 times as long, and SMs load from peers no faster than on NVLink 4:
// medians over B200, B300, GB200 and GB300 of vLLM 0.14 to 0.24 and SGLang 0.5.9 and 0.5.10 in
// AIConfigurator's tables. TensorRT-LLM's sums of 4 MiB show the same rate.
constexpr double kFlagsOfNvlink5 = 2.5;
constexpr double kMostLoaded = 270e9;  // bytes per second

constexpr double kNvlink4 = 450e9;
// In a mesh each pair has links of its own (Infinity Fabric), on which flags take 1.5 times as long
// as on NVLink 4: vLLM's kernel on 8 MI355X takes 6.3 us for 24 KB, 10.0 for 192 KB, 16.0 for 768
// KB and 24.2 for 1.5 MB (vLLM pull request 39080).
constexpr double kFlagsOfMesh = 1.5;

bool one_shot(std::int64_t ranks, std::int64_t bytes) {
    return ranks == 2 || bytes < (ranks <= 4 ? kOneShotOfFour : kOneShotOfEight);
}

}  // namespace

std::optional<Time> direct_all_reduce_time(
    const NodeSpec& node, std::int64_t ranks, Bytes bytes, Time kernel_latency, PeerFlags flags) {
    const bool nvlink = node.intra_node != IntraNodeKind::pcie;
    const bool within = ranks <= static_cast<std::int64_t>(node.gpus_per_node);
    if (ranks < 2 || ranks > kMostRanks || bytes.count() > kMostBytes || !nvlink || !within) {
        return std::nullopt;
    }
    const bool mesh = node.intra_node == IntraNodeKind::nvlink_mesh;
    const double peers = static_cast<double>(ranks - 1);
    const double used = mesh ? peers / static_cast<double>(node.gpus_per_node - 1) : 1;
    const double link = static_cast<double>(node.nvlink_bandwidth.bits_per_second()) / 8 * used;
    const double rate = std::min(link * kLoadShare, kMostLoaded);
    const bool slow = flags == PeerFlags::barriers && link > kNvlink4;
    const double flag_s = node.nvlink_latency.seconds() * (mesh   ? kFlagsOfMesh
                                                           : slow ? kFlagsOfNvlink5
                                                                  : 1);
    const double size = static_cast<double>(bytes.count());
    const Time ends = kernel_latency + Time::seconds(flag_s * 2 * kLinksOfBarrier);
    if (one_shot(ranks, bytes.count())) {
        return ends + Time::seconds(peers * size / rate);
    }
    return ends + Time::seconds(flag_s * kLinksOfPublishing) +
           Time::seconds(2 * peers / static_cast<double>(ranks) * size / rate);
}

}  // namespace orrery
