// SPDX-License-Identifier: Apache-2.0
#include "kernels/balanced_percentile.h"

#include <algorithm>
#include <utility>

namespace orrery {

double balanced_percentile(const std::map<std::string, std::vector<double>>& groups, double share) {
    const auto filled = static_cast<double>(
        std::ranges::count_if(groups, [](const auto& group) { return !group.second.empty(); }));
    std::vector<std::pair<double, double>> weighed;  // (value, weight)
    for (const auto& [name, values] : groups) {
        for (const double value : values) {
            weighed.emplace_back(value, 1.0 / (static_cast<double>(values.size()) * filled));
        }
    }
    std::ranges::sort(weighed);
    double below = 0;
    for (const auto& [value, weight] : weighed) {
        below += weight;
        if (below >= share) {
            return value;
        }
    }
    return weighed.empty() ? 0 : weighed.back().first;
}

}  // namespace orrery
