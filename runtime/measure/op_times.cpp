// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/op_times.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr std::size_t kMostSamples = 4096;  // of a kernel

// The interquartile range of a normal distribution in standard deviations.
constexpr double kNormalQuartiles = 1.35;

}  // namespace

void OpTimes::add(std::uint32_t kernel, double seconds) {
    if (seconds_[kernel].size() < kMostSamples) {
        seconds_[kernel].push_back(seconds);
    }
}

// By linear interpolation between the order statistics.
double OpTimes::quantile(std::uint32_t kernel, double share) const {
    std::vector<double> sorted = seconds_[kernel];
    if (sorted.empty()) {
        return 0;
    }
    std::sort(sorted.begin(), sorted.end());
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double OpTimes::median(std::uint32_t kernel) const {
    return quantile(kernel, 0.5);
}

Profile OpTimes::profile(const std::string& device) const {
    Profile profile;
    for (std::uint32_t k = 0; k < seconds_.size(); ++k) {
        const double middle = median(k);
        if (middle <= 0) {
            continue;
        }
        const double range = quantile(k, 0.75) - quantile(k, 0.25);
        profile.push_back({.device = device,
                           .call = program_.kernels[k],
                           .median = Time::seconds(middle),
                           .spread = range / (kNormalQuartiles * middle),
                           .samples = static_cast<std::int64_t>(seconds_[k].size())});
    }
    return profile;
}

}  // namespace orrery
