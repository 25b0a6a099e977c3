// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/closed_forms.h"

#include <algorithm>
#include <cmath>

namespace orrery {

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
    // Newton's method on x + e^-(x + d) - 1, which is convex with one positive root. Young's
    // interval is a close start.
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

double segment_time_s(double mtbf, double checkpoint, double restart, double interval) {
    return mtbf * std::exp(restart / mtbf) * std::expm1((interval + checkpoint) / mtbf);
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

}  // namespace orrery
