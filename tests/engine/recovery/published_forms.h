// SPDX-License-Identifier: Apache-2.0
// Closed forms of the literature that campaigns and recovery are compared with. All times in
// seconds. Failures are exponential with mean time M = `mtbf` between them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace orrery {

// Kokolis et al. (HPCA 2025): expected effective training time ratio to first order.
inline double first_order_ettr(double mtbf, double restart, double interval, double write) {
    return (1 - (restart + interval / 2) / mtbf) / (1 + write / interval);
}

// Share of time in which all of `servers` are busy at an offered load (Erlang's loss formula):
// `servers` - 1 spares are then not enough, where failing nodes are out for a while.
inline double erlang_b(double load, std::uint32_t servers) {
    double blocked = 1;
    for (std::uint32_t k = 1; k <= servers; ++k) {
        blocked = load * blocked / (k + load * blocked);
    }
    return blocked;
}

// The same with `crew` repairs at a time: a birth-death chain with exponential repairs.
inline double stall_share(double load, std::uint32_t servers, std::uint32_t crew) {
    double term = 1;  // P(k down) / P(0 down)
    double sum = 1;
    for (std::uint32_t k = 1; k <= servers; ++k) {
        term *= load / std::min(k, crew);
        sum += term;
    }
    return term / sum;
}

// P(no group of `group` nodes is lost as a whole | `lost` of `nodes` are lost at once): GEMINI
// (SOSP 2023), placement in groups.
inline double group_survival(std::uint32_t nodes, std::uint32_t group, std::uint32_t lost) {
    // Inclusion and exclusion over the groups that are lost as a whole.
    const auto log_choose = [](double n, double k) {
        return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
    };
    const std::uint32_t groups = nodes / group;
    double survival = 0;
    for (std::uint32_t j = 0; j <= groups && j * group <= lost; ++j) {
        const double ways = log_choose(groups, j) + log_choose(nodes - j * group, lost - j * group);
        survival += (j % 2 == 0 ? 1 : -1) * std::exp(ways - log_choose(nodes, lost));
    }
    return survival;
}

// Step time over the healthy one when each of `nodes` is slower by `factor` with probability `p`.
inline double straggler_factor(double factor, double p, std::uint32_t nodes) {
    return 1 + (factor - 1) * -std::expm1(nodes * std::log1p(-p));
}

// A flow shop: each of `items` passes all stages in order.
inline double flow_shop_makespan(const std::vector<double>& stages, std::uint32_t items) {
    const double once = std::accumulate(stages.begin(), stages.end(), 0.0);
    return once + (items - 1) * *std::max_element(stages.begin(), stages.end());
}

}  // namespace orrery
