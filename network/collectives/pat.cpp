// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/pat.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace orrery {

std::uint32_t pat_blocks(std::uint32_t num_ranks, std::uint32_t distance) {
    // k = distance, 3 distance, 5 distance … below num_ranks.
    return distance >= num_ranks ? 0 : (num_ranks - 1 - distance) / (2 * distance) + 1;
}

std::vector<PartShape> pat_parts(const ChannelRouter& router,
                                 CollectiveKind kind,
                                 std::uint32_t channels,
                                 std::uint32_t search_channels) {
    const auto& layout = router.layout();
    const std::uint32_t n = layout.num_nodes();
    ORRERY_CHECK(n == layout.num_ranks());
    const std::uint32_t rails = layout.num_rails();
    const std::uint32_t distinct = router.paths_differ() ? channels : std::min(channels, rails);
    std::vector<PartShape> parts(distinct);
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        if (channel >= distinct) {
            parts[channel % search_channels % rails].multiplicity += 1;
            continue;
        }
        const std::uint32_t rail = channel % search_channels % rails;
        FootprintBuilder builder;
        for (std::uint32_t distance = 1; distance < n; distance *= 2) {
            const std::uint32_t blocks = pat_blocks(n, distance);
            for (std::uint32_t from = 0; from < n; ++from) {
                const std::uint32_t ahead = (from + distance) % n;
                const std::uint32_t behind = (from + n - distance) % n;
                const auto to = kind == CollectiveKind::all_gather ? ahead : behind;
                FootprintBuilder edge;
                router.network_edge(layout.rail_rank(from, rail), from, to, rail, channel, edge);
                if (edge.broken()) {
                    builder.add_broken();
                }
                for (const auto& share : edge.take()) {
                    builder.add(share.link, share.count * blocks);
                }
            }
        }
        parts[channel].broken = builder.broken();
        parts[channel].footprint = builder.take();
        parts[channel].divisor = std::int64_t{channels} * n * router.queue_pairs();
    }
    return merged_channels(std::move(parts), router.channels_stay_apart());
}

}  // namespace orrery
