// SPDX-License-Identifier: Apache-2.0
#include "engine/folding.h"

#include <numeric>

namespace orrery {

Partition trivial_partition(const Transfers& transfers,
                            std::uint32_t num_ranks,
                            std::size_t num_links) {
    Partition out;
    const auto identity = [](std::vector<std::uint32_t>& classes, std::size_t n) {
        classes.resize(n);
        std::iota(classes.begin(), classes.end(), 0u);
        return static_cast<std::uint32_t>(n);
    };
    out.rank_classes = identity(out.class_of_rank, num_ranks);
    out.channel_classes = identity(out.class_of_channel, transfers.channels.size());
    out.link_classes = identity(out.class_of_link, num_links);
    return out;
}

Partition coarsest_partition(const SimulationInput& input,
                             const Transfers& transfers,
                             const std::vector<bool>& contended) {
    return trivial_partition(transfers, input.program->num_ranks(), contended.size());
}

}  // namespace orrery
