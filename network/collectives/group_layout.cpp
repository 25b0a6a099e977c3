// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/group_layout.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/base/check.h"

namespace orrery {
namespace {

// Seven directed cycles of eight GPUs that use the link of every ordered pair once. The choice of
// the seven does not matter.
constexpr std::array<std::array<std::uint32_t, 8>, 7> kRingsOfEight{{{0, 1, 2, 3, 4, 5, 6, 7},
                                                                     {0, 2, 1, 3, 5, 4, 7, 6},
                                                                     {0, 3, 1, 4, 6, 2, 7, 5},
                                                                     {0, 4, 1, 5, 7, 2, 6, 3},
                                                                     {0, 5, 3, 6, 1, 7, 4, 2},
                                                                     {0, 6, 5, 2, 4, 3, 7, 1},
                                                                     {0, 7, 3, 2, 5, 1, 6, 4}}};

// Each NIC of the node's members once, next to its first member.
std::vector<GroupRail> rails_of(const Fabric& fabric, const GroupNode& node) {
    const NodeWiring& wiring = fabric.wiring(node.node);
    const std::uint32_t nics = wiring.num_nics();
    const std::uint32_t gpus = fabric.spec().node.gpus_per_node;
    std::vector<GroupRail> rails;
    for (std::uint32_t g = 0; g < node.gpus.size(); ++g) {
        const std::uint32_t local = fabric.local_of(node.gpus[g]);
        const std::uint32_t first = wiring.nic_of_gpu(local);
        const std::uint32_t end = std::max(first + 1, (local + 1) * nics / gpus);
        for (std::uint32_t nic = first; nic < end; ++nic) {
            if (rails.empty() || rails.back().nic.nic < nic) {
                rails.push_back({g, {.node = node.node, .nic = nic}});
            }
        }
    }
    return rails;
}

}  // namespace

GroupLayout::GroupLayout(const Fabric& fabric, std::span<const RankId> members)
    : num_ranks_(static_cast<std::uint32_t>(members.size())) {
    ORRERY_CHECK(!members.empty());
    std::vector<RankId> by_gpu(members.begin(), members.end());
    std::sort(by_gpu.begin(), by_gpu.end(), [&](RankId a, RankId b) {
        return fabric.gpu_of(a) < fabric.gpu_of(b);
    });
    for (const RankId rank : by_gpu) {
        const std::uint32_t node = fabric.node_of(rank);
        if (nodes_.empty() || nodes_.back().node != node) {
            nodes_.push_back({.node = node, .gpus = {}, .rails = {}});
        }
        nodes_.back().gpus.push_back(rank);
    }
    for (const GroupNode& node : nodes_) {
        kinds_ |= 1u << fabric.spec().kind_of_node(node.node);
        over_tcp_ = over_tcp_ || (node.node != nodes_.front().node &&
                                  fabric.over_tcp(nodes_.front().node, node.node));
    }
    std::size_t fewest = fabric.spec().fabric.nics_per_node;
    for (auto& node : nodes_) {
        node.rails = over_tcp_ ? std::vector<GroupRail>{{0, {node.node, kEthernetNic}}}
                               : rails_of(fabric, node);
        fewest = std::min(fewest, node.rails.size());
    }
    num_rails_ = static_cast<std::uint32_t>(fewest);
    ORRERY_CHECK(num_rails_ > 0);
}

NcclGroupShape GroupLayout::shape() const {
    std::size_t fewest = nodes_.front().gpus.size();
    for (const auto& node : nodes_) {
        fewest = std::min(fewest, node.gpus.size());
    }
    return {.num_nodes = num_nodes(),
            .num_ranks = num_ranks_,
            .gpus_per_node = static_cast<std::uint32_t>(fewest),
            .nics_per_node = num_rails_,
            .kinds = kinds_,
            .tcp = over_tcp_};
}

std::vector<std::uint32_t> mesh_cycle(std::uint32_t gpus, std::uint32_t cycle) {
    std::vector<std::uint32_t> order(gpus);
    if (gpus == kRingsOfEight.front().size()) {
        const auto& visits = kRingsOfEight[cycle % kRingsOfEight.size()];
        order.assign(visits.begin(), visits.end());
        return order;
    }
    if (gpus <= 2) {
        std::iota(order.begin(), order.end(), 0u);
        return order;
    }
    // One GPU in the middle, the others on a circle: zigzag i, i+1, i-1, i+2 … over the circle.
    const std::uint32_t circle = gpus - 1;
    const std::uint32_t start = cycle / 2 % ((gpus - 1) / 2);
    order[0] = circle;
    for (std::uint32_t k = 0; k < circle; ++k) {
        const std::uint32_t step = (k + 1) / 2;
        order[k + 1] = (start + (k % 2 == 1 ? step : circle - step)) % circle;
    }
    if (cycle % 2 == 1) {
        std::reverse(order.begin(), order.end());
    }
    return order;
}

}  // namespace orrery
