// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/tree.h"

#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "network/collectives/double_tree.h"

namespace orrery {
namespace {

void add_chain(const ChannelRouter& router,
               std::uint32_t node,
               std::uint32_t rail,
               std::uint32_t cycle,
               FootprintBuilder& out) {
    const auto order = router.cycle(node, rail, cycle);
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        router.local_edge(order[i], order[i + 1], out);
        router.local_edge(order[i + 1], order[i], out);
    }
}

void add_tree(const ChannelRouter& router,
              const TreeParents& tree,
              std::uint32_t channel,
              std::uint32_t rail,
              FootprintBuilder& out) {
    const auto& layout = router.layout();
    for (std::uint32_t node = 0; node < layout.num_nodes(); ++node) {
        const std::uint32_t parent = tree[node];
        if (parent != node) {
            router.network_edge(layout.rail_rank(node, rail), node, parent, rail, channel, out);
            router.network_edge(layout.rail_rank(parent, rail), parent, node, rail, channel, out);
        }
    }
}

}  // namespace

std::vector<PartShape> tree_parts(const ChannelRouter& router,
                                  std::uint32_t channels,
                                  std::uint32_t search_channels) {
    const auto& layout = router.layout();
    const std::uint32_t nodes = layout.num_nodes();
    const std::array<TreeParents, 2> trees{first_tree(nodes), second_tree(nodes)};
    const bool mesh = router.fabric().spec().node.intra_node == IntraNodeKind::nvlink_mesh;
    const std::uint32_t cycles =
        mesh ? num_mesh_rings(static_cast<std::uint32_t>(layout.nodes()[0].gpus.size())) : 1;
    std::vector<PartShape> parts;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> alike;
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        const std::uint32_t found = channel % search_channels;
        const std::uint32_t rail = found % layout.num_rails();
        const std::uint32_t which = nodes > 1 ? channel / search_channels % 2 : 0;
        const std::tuple key{rail, found % cycles, which};
        const auto known = alike.find(key);
        if (!router.paths_differ() && known != alike.end()) {
            parts[known->second].multiplicity += 1;
            continue;
        }
        FootprintBuilder builder;
        for (std::uint32_t node = 0; node < nodes; ++node) {
            add_chain(router, node, rail, found % cycles, builder);
        }
        add_tree(router, trees[which], channel, rail, builder);
        alike[key] = parts.size();
        parts.push_back({.broken = builder.broken(),
                         .footprint = builder.take(),
                         .divisor = std::int64_t{channels} * router.queue_pairs()});
    }
    return merged_channels(std::move(parts), router.channels_stay_apart());
}

}  // namespace orrery
