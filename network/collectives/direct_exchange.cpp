// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/direct_exchange.h"

namespace orrery {

namespace {

// AIConfigurator's tables of 7,168 columns and 8 of 256 experts: one token takes 12 to 18 us each
// way on GB200, and TensorRT-LLM 1.2 counts rows for 14 us beforehand. Slopes of 64 to 1,024 tokens
// are 0.42 to 0.57 of NVLink's rate (TensorRT-LLM on 32 GB200, DeepEP on 8 H100 and 4 GB200).
constexpr double kLatency_s = 18e-6;
constexpr double kStoreShare = 0.5;

}  // namespace

std::optional<Time> direct_exchange_time(const NodeSpec& node, std::int64_t ranks, Bytes bytes) {
    if (ranks < 2 || ranks > static_cast<std::int64_t>(node.gpus_per_node) ||
        node.intra_node != IntraNodeKind::nvswitch) {
        return std::nullopt;
    }
    const double rate =
        static_cast<double>(node.nvlink_bandwidth.bits_per_second()) / 8 * kStoreShare;
    const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    return Time::seconds(kLatency_s + others * static_cast<double>(bytes.count()) / rate);
}

}  // namespace orrery
