// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/routed_rows.h"

#include <algorithm>
#include <numeric>

#include "engine/base/check.h"

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

double consecutive_groups_hit(std::uint32_t groups, std::uint32_t experts, std::uint32_t choices) {
    const std::uint32_t all = groups * experts;
    ORRERY_CHECK(experts > 0 && choices > 0 && choices <= all);
    // Tokens begin at all multiples of the greatest common divisor, equally often. The last group
    // may be the first one again.
    const std::uint32_t step = std::gcd(choices, all);
    double hit = 0;
    for (std::uint32_t first = 0; first < all; first += step) {
        const std::uint32_t span = (first + choices - 1) / experts - first / experts + 1;
        hit += std::min(span, groups);
    }
    return hit * step / all;
}

RoutedRows expected_rows(const UniformRouter& router) {
    ORRERY_CHECK(router.ranks > 0 && router.servers > 0 && router.ranks % router.servers == 0);
    ORRERY_CHECK(router.experts % router.ranks == 0);
    const std::uint32_t limit =
        router.server_limit == 0 ? router.servers : std::min(router.server_limit, router.servers);
    const std::uint32_t of_rank = router.experts / router.ranks;
    const std::uint32_t of_server = router.ranks / router.servers;
    // A token that chooses among `limit` servers can hit only their ranks.
    const GroupsHit hit = groups_hit(router.consecutive);
    const double ranks_hit = hit(limit * of_server, of_rank, router.choices);
    const double servers_hit = hit(limit, of_rank * of_server, router.choices);
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

void scale_to_shares(RoutedRows& rows, std::span<const std::uint32_t> millionths) {
    ORRERY_CHECK(millionths.size() == rows.ranks);
    const std::uint32_t of_server = rows.ranks / rows.servers;
    std::vector<double> over_mean(rows.ranks);
    std::vector<double> server_over_mean(rows.servers, 0);
    for (std::uint32_t to = 0; to < rows.ranks; ++to) {
        over_mean[to] = millionths[to] * 1e-6 * rows.ranks;
        server_over_mean[to / of_server] += over_mean[to] / of_server;
    }
    for (std::uint32_t from = 0; from < rows.ranks; ++from) {
        for (std::uint32_t to = 0; to < rows.ranks; ++to) {
            const std::size_t pair = std::size_t{from} * rows.ranks + to;
            rows.choices[pair] *= over_mean[to];
            rows.distinct[pair] = std::min(rows.tokens, rows.distinct[pair] * over_mean[to]);
        }
        for (std::uint32_t server = 0; server < rows.servers; ++server) {
            double& crossing = rows.crossing[std::size_t{from} * rows.servers + server];
            crossing = std::min(rows.tokens, crossing * server_over_mean[server]);
        }
    }
}

}  // namespace orrery
