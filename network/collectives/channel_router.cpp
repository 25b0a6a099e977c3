// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/channel_router.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/splitmix.h"

namespace orrery {
namespace {

bool has_choice(const Fabric& fabric, const GroupLayout& layout) {
    const auto& spec = fabric.spec().fabric;
    const bool of_flows =
        spec.routing == RoutingKind::ecmp || spec.routing == RoutingKind::adaptive;
    if (!of_flows || layout.num_nodes() < 2) {
        return false;
    }
    for (std::uint32_t node = 0; node + 1 < layout.num_nodes(); ++node) {
        if (fabric.num_paths(layout.rail(node, 0).nic, layout.rail(node + 1, 0).nic) > 1) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::uint64_t flow_label(RankId from, RankId to, std::uint32_t channel, std::uint64_t purpose) {
    const auto pair = (static_cast<std::uint64_t>(index(from)) << 32) | index(to);
    return splitmix64(splitmix64(splitmix64(pair) ^ purpose) ^ channel);
}

ChannelRouter::ChannelRouter(const Fabric& fabric,
                             const GroupLayout& layout,
                             std::uint64_t purpose,
                             Connections* connections)
    : fabric_(fabric),
      layout_(layout),
      purpose_(purpose),
      connections_(connections),
      queue_pairs_(1),
      paths_differ_(has_choice(fabric, layout)) {
    // With a single path, all queue pairs take it.
    if (paths_differ_) {
        queue_pairs_ = std::max(1u, fabric.spec().fabric.qps_per_connection);
    }
}

void ChannelRouter::local_edge(RankId from, RankId to, FootprintBuilder& out) const {
    if (from == to) {
        return;
    }
    path_.clear();
    fabric_.gpu_to_gpu(from, to, path_);
    out.add(path_, queue_pairs_);
}

void ChannelRouter::network_edge(RankId sender,
                                 std::uint32_t a,
                                 std::uint32_t b,
                                 std::uint32_t r,
                                 std::uint32_t channel,
                                 FootprintBuilder& out) const {
    ORRERY_CHECK(a != b);
    const NicPort from = layout_.rail(a, r).nic;
    const NicPort to = layout_.rail(b, r).nic;
    const RankId receiver = layout_.rail_rank(b, r);
    path_.clear();
    fabric_.gpu_to_nic(sender, from.nic, path_);
    fabric_.nic_to_gpu(to.nic, receiver, path_);
    out.add(path_, queue_pairs_);
    const std::uint64_t label = flow_label(layout_.rail_rank(a, r), receiver, channel, purpose_);
    for (std::uint32_t qp = 0; qp < queue_pairs_; ++qp) {
        path_.clear();
        const LinkState state = connections_ != nullptr ? connections_->state() : LinkState{};
        if (!fabric_.route_nics(from, to, label, path_, qp, state)) {
            out.add_broken();
        }
        if (connections_ != nullptr) {
            connections_->opened(from, to, label, qp, path_);
        }
        out.add(path_, 1);
    }
}

std::vector<RankId> ChannelRouter::cycle(std::uint32_t node,
                                         std::uint32_t r,
                                         std::uint32_t cycle) const {
    const auto& gpus = layout_.nodes()[node].gpus;
    std::vector<RankId> order = gpus;
    if (fabric_.spec().node.intra_node == IntraNodeKind::nvlink_mesh) {
        const auto positions = mesh_cycle(static_cast<std::uint32_t>(gpus.size()), cycle);
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            order[i] = gpus[positions[i]];
        }
    }
    std::rotate(order.begin(),
                std::find(order.begin(), order.end(), layout_.rail_rank(node, r)),
                order.end());
    return order;
}

}  // namespace orrery
