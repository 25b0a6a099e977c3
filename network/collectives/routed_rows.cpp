// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/routed_rows.h"

#include <algorithm>

#include "engine/check.h"

namespace orrery {

double expected_groups_hit(std::uint32_t groups, std::uint32_t experts, std::uint32_t choices) {
    const std::uint32_t all = groups * experts;
    ORRERY_CHECK(experts > 0 && choices <= all);
    // C(all - experts, k) / C(all, k), factor by factor.
    double missed = 1;
    for (std::uint32_t i = 0; i < choices; ++i) {
        const double left = static_cast<double>(all) - experts - i;
        missed *= std::max(0.0, left) / static_cast<double>(all - i);
    }
    return groups * (1 - missed);
}

RoutedRows expected_rows(const UniformRouter& router) {
    ORRERY_CHECK(router.ranks > 0 && router.servers > 0 && router.ranks % router.servers == 0);
    ORRERY_CHECK(router.experts % router.ranks == 0);
    const std::uint32_t limit =
        router.server_limit == 0 ? router.servers : std::min(router.server_limit, router.servers);
    const std::uint32_t of_rank = router.experts / router.ranks;
    const std::uint32_t of_server = router.ranks / router.servers;
    // A token that chooses among `limit` servers sees that many servers' worth of ranks.
    const double ranks_hit = expected_groups_hit(limit * of_server, of_rank, router.choices);
    const double servers_hit = expected_groups_hit(limit, of_rank * of_server, router.choices);
    const std::size_t n = router.ranks;
    return {.ranks = router.ranks,
            .servers = router.servers,
            .choices = std::vector<double>(n * n, router.tokens * router.choices / router.ranks),
            .distinct = std::vector<double>(n * n, router.tokens * ranks_hit / router.ranks),
            .crossing = std::vector<double>(n * router.servers,
                                            router.tokens * servers_hit / router.servers),
            .tokens = router.tokens,
            .experts = router.experts};
}

}  // namespace orrery
