// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/closed_forms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery {

double segment_time_s(double mtbf, double checkpoint, double restart, double interval) {
    return mtbf * std::exp(restart / mtbf) * std::expm1((interval + checkpoint) / mtbf);
}

double young_interval_s(double mtbf, double checkpoint) {
    return std::sqrt(2 * checkpoint * mtbf);
}

double daly_interval_s(double mtbf, double checkpoint) {
    if (checkpoint >= 2 * mtbf) {
        return mtbf;
    }
    const double half = checkpoint / (2 * mtbf);
    return young_interval_s(mtbf, checkpoint) * (1 + std::sqrt(half) / 3 + half / 9) - checkpoint;
}

double optimal_interval_s(double mtbf, double checkpoint) {
    const double d = checkpoint / mtbf;
    // Newton on x + e^-(x + d) - 1, convex with one positive root; Young's value starts near it.
    double x = std::max(std::sqrt(2 * d), 1e-9);
    for (int i = 0; i < 60; ++i) {
        const double e = std::exp(-(x + d));
        const double next = x - (x + e - 1) / (1 - e);
        if (std::abs(next - x) <= 1e-15 * x) {
            break;
        }
        x = next;
    }
    return mtbf * x;
}

double first_order_ettr(double mtbf, double restart, double interval, double write) {
    return (1 - (restart + interval / 2) / mtbf) / (1 + write / interval);
}

double erlang_b(double load, std::uint32_t servers) {
    double blocked = 1;
    for (std::uint32_t k = 1; k <= servers; ++k) {
        blocked = load * blocked / (k + load * blocked);
    }
    return blocked;
}

double stall_share(double load, std::uint32_t servers, std::uint32_t crew) {
    double term = 1;  // P(k down) / P(0 down)
    double sum = 1;
    for (std::uint32_t k = 1; k <= servers; ++k) {
        term *= load / std::min(k, crew);
        sum += term;
    }
    return term / sum;
}

std::uint32_t binomial_quantile(std::uint32_t n, double p, double quantile) {
    const double odds = p / (1 - p);
    double log_term = n * std::log1p(-p);
    double sum = 0;
    for (std::uint32_t k = 0; k < n; ++k) {
        sum += std::exp(log_term);
        if (sum >= quantile) {
            return k;
        }
        log_term += std::log(static_cast<double>(n - k) / (k + 1) * odds);
    }
    return n;
}

double group_survival(std::uint32_t nodes, std::uint32_t group, std::uint32_t lost) {
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

double straggler_factor(double factor, double p, std::uint32_t nodes) {
    return 1 + (factor - 1) * -std::expm1(nodes * std::log1p(-p));
}

double flow_shop_makespan(const std::vector<double>& stages, std::uint32_t items) {
    const double once = std::accumulate(stages.begin(), stages.end(), 0.0);
    return once + (items - 1) * *std::max_element(stages.begin(), stages.end());
}

}  // namespace orrery
