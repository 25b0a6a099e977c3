// SPDX-License-Identifier: Apache-2.0
#include "engine/base/statistics.h"

#include <cmath>

namespace orrery {

double quantile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) {
        return 0;
    }
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double weight = at - static_cast<double>(below);
    return sorted[below] * (1 - weight) + sorted[above] * weight;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return quantile(values, 0.5);
}

double Moments::deviation() const {
    return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
}

double Moments::sample_deviation() const {
    return count > 1 ? std::sqrt(squares / static_cast<double>(count - 1)) : 0;
}

Moments moments(const std::vector<double>& values) {
    Moments found{.count = values.size()};
    const auto n = static_cast<double>(values.size());
    for (const double value : values) {
        found.mean += value / n;
    }
    for (const double value : values) {
        found.squares += (value - found.mean) * (value - found.mean);
    }
    return found;
}

double quartile_spread(const std::vector<double>& sorted, double middle) {
    constexpr double kNormalQuartiles = 1.35;  // interquartile range in standard deviations
    return (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / (kNormalQuartiles * middle);
}

}  // namespace orrery
