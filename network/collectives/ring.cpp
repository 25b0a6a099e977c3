// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/ring.h"

#include <algorithm>
#include <map>
#include <utility>

namespace orrery {
namespace {

void add_ring(const ChannelRouter& router,
              std::uint32_t channel,
              std::uint32_t rail,
              std::uint32_t cycle,
              FootprintBuilder& out) {
    const std::uint32_t nodes = router.layout().num_nodes();
    for (std::uint32_t node = 0; node < nodes; ++node) {
        const std::uint32_t number = router.layout().nodes()[node].node;
        const bool nvlink = router.fabric().node_spec(number).intra_node != IntraNodeKind::pcie;
        const auto order = router.cycle(node, rail, cycle);
        for (std::size_t i = 0; i + 1 < order.size(); ++i) {
            router.local_edge(order[i], order[i + 1], out);
        }
        const bool returns = nvlink || nodes == 1;
        if (returns) {
            router.local_edge(order.back(), order.front(), out);
        }
        if (nodes > 1) {
            const RankId sender = returns ? order.front() : order.back();
            router.network_edge(sender, node, (node + 1) % nodes, rail, channel, out);
        }
    }
}

}  // namespace

std::vector<PartShape> ring_parts(const ChannelRouter& router,
                                  std::uint32_t channels,
                                  std::uint32_t search_channels) {
    const auto& layout = router.layout();
    const bool mesh = router.fabric().spec().node.intra_node == IntraNodeKind::nvlink_mesh;
    const std::uint32_t cycles =
        mesh ? num_mesh_rings(static_cast<std::uint32_t>(layout.nodes()[0].gpus.size())) : 1;
    const std::uint32_t rails = layout.num_nodes() > 1 ? layout.num_rails() : 1;
    std::vector<PartShape> parts;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> alike;  // (rail, cycle)
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        const std::uint32_t found = channel % search_channels;
        const std::uint32_t rail = found % rails;
        const std::uint32_t cycle = found % cycles;
        const auto known = alike.find({rail, cycle});
        if (!router.paths_differ() && known != alike.end()) {
            parts[known->second].multiplicity += 1;
            continue;
        }
        FootprintBuilder builder;
        add_ring(router, channel, rail, cycle, builder);
        alike[{rail, cycle}] = parts.size();
        parts.push_back({.broken = builder.broken(),
                         .footprint = builder.take(),
                         .divisor = std::int64_t{channels} * router.queue_pairs()});
    }
    return merged_channels(std::move(parts), router.channels_stay_apart());
}

std::int64_t ring_edge_bytes(CollectiveKind kind, std::int64_t bytes, std::uint32_t num_ranks) {
    const std::int64_t n = num_ranks;
    const std::int64_t passes = kind == CollectiveKind::all_reduce ? 2 : 1;
    if (kind == CollectiveKind::broadcast) {
        return bytes;
    }
    // Whole chunks of ceil(bytes / n) travel. Quotient and remainder are separate to avoid
    // overflow.
    const std::int64_t chunk = bytes / n;
    const std::int64_t rest = bytes % n;
    return passes * ((n - 1) * chunk + ((n - 1) * rest + n - 1) / n);
}

}  // namespace orrery
