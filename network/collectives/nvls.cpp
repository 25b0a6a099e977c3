// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/nvls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/check.h"
#include "network/collectives/double_tree.h"

namespace orrery {
namespace {

// One head's slice on the NVLinks of a node: all GPUs send it, the head receives the sum and sends
// the result, and all receive it.
void add_slice(const ChannelRouter& router,
               const GroupNode& node,
               RankId head,
               FootprintBuilder& out) {
    const auto& fabric = router.fabric();
    for (const RankId rank : node.gpus) {
        out.add(fabric.nvlink_out(rank), router.queue_pairs());
        out.add(fabric.nvlink_in(rank), router.queue_pairs());
    }
    out.add(fabric.nvlink_out(head), router.queue_pairs());
    out.add(fabric.nvlink_in(head), router.queue_pairs());
}

}  // namespace

std::vector<PartShape> nvls_parts(const ChannelRouter& router, CollectiveKind kind) {
    ORRERY_CHECK(router.layout().num_nodes() == 1);
    const auto& gpus = router.layout().nodes()[0].gpus;
    const auto p = static_cast<std::uint32_t>(gpus.size());
    std::uint32_t out = p + 1;
    std::uint32_t in = p + 1;
    if (kind == CollectiveKind::all_gather) {
        out = 1;
        in = p;
    } else if (kind == CollectiveKind::reduce_scatter) {
        out = p;
        in = 1;
    }
    FootprintBuilder builder;
    for (const RankId rank : gpus) {
        builder.add(router.fabric().nvlink_out(rank), out);
        builder.add(router.fabric().nvlink_in(rank), in);
    }
    return {{.footprint = builder.take(), .divisor = p, .multiplicity = 1}};
}

std::vector<PartShape> nvls_tree_parts(const ChannelRouter& router, std::uint32_t channels) {
    const auto& layout = router.layout();
    const std::uint32_t nodes = layout.num_nodes();
    const std::uint32_t heads = layout.num_rails();
    const std::array<TreeParents, 2> trees{first_tree(nodes), second_tree(nodes)};
    std::vector<PartShape> parts;
    for (std::uint32_t rail = 0; rail < heads; ++rail) {
        for (std::uint32_t channel = 0; channel < channels; ++channel) {
            const bool built = !router.paths_differ() && channel >= 2;
            if (built) {
                parts[parts.size() - 2 + channel % 2].multiplicity += 1;
                continue;
            }
            FootprintBuilder builder;
            for (std::uint32_t node = 0; node < nodes; ++node) {
                add_slice(router, layout.nodes()[node], layout.rail_rank(node, rail), builder);
                const std::uint32_t parent = trees[channel % 2][node];
                if (parent != node) {
                    const RankId child_rank = layout.rail_rank(node, rail);
                    const RankId parent_rank = layout.rail_rank(parent, rail);
                    router.network_edge(child_rank, node, parent, rail, channel, builder);
                    router.network_edge(parent_rank, parent, node, rail, channel, builder);
                }
            }
            parts.push_back({.broken = builder.broken(),
                             .footprint = builder.take(),
                             .divisor = std::int64_t{channels} * heads * router.queue_pairs()});
        }
    }
    return merged_channels(std::move(parts), router.channels_stay_apart());
}

}  // namespace orrery
