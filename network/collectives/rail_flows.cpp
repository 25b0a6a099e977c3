// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/rail_flows.h"

#include <algorithm>

#include "network/collectives/channel_router.h"
#include "network/collectives/ring.h"

namespace orrery {
namespace {

// Share `i` of `n` of the bytes, as even as whole bytes can be.
Bytes share_of(std::int64_t bytes, std::uint32_t i, std::uint32_t n) {
    return Bytes{bytes * (i + 1) / n - bytes * i / n};
}

}  // namespace

std::vector<NicFlow> rail_flows(const GroupLayout& layout, CollectiveKind kind, Bytes bytes) {
    std::vector<NicFlow> flows;
    const std::uint32_t nodes = layout.num_nodes();
    const std::uint32_t rails = layout.num_rails();
    const std::uint32_t ranks = layout.num_ranks();
    const auto add = [&](std::uint32_t a, std::uint32_t b, std::uint32_t r, Bytes moved) {
        flows.push_back(
            {.from = layout.rail(a, r).nic,
             .to = layout.rail(b, r).nic,
             .bytes = moved,
             .label = flow_label(layout.rail_rank(a, r), layout.rail_rank(b, r), 0, 0)});
    };
    if (nodes < 2) {
        return flows;
    }
    if (kind == CollectiveKind::all_to_all) {
        // Every rank of a node has bytes / ranks for every rank of the other one.
        for (std::uint32_t a = 0; a < nodes; ++a) {
            for (std::uint32_t b = 0; b < nodes; ++b) {
                const auto senders = static_cast<std::int64_t>(layout.nodes()[a].gpus.size());
                const auto receivers = static_cast<std::int64_t>(layout.nodes()[b].gpus.size());
                // Racks that the job fills have more rails between them than one that it shares.
                const auto both = static_cast<std::uint32_t>(
                    std::min(layout.nodes()[a].rails.size(), layout.nodes()[b].rails.size()));
                for (std::uint32_t r = 0; a != b && r < both; ++r) {
                    add(a, b, r, share_of(bytes.count() * senders * receivers / ranks, r, both));
                }
            }
        }
        return flows;
    }
    const std::int64_t edge = ring_edge_bytes(kind, bytes.count(), ranks);
    for (std::uint32_t r = 0; r < rails; ++r) {
        for (std::uint32_t node = 0; node < nodes; ++node) {
            add(node, (node + 1) % nodes, r, share_of(edge, r, rails));
        }
    }
    return flows;
}

}  // namespace orrery
