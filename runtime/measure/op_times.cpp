// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/op_times.h"

#include <algorithm>

#include "engine/base/statistics.h"

namespace orrery {
namespace {

constexpr std::size_t kMostSamples = 4096;  // per kernel

}  // namespace

void OpTimes::add(std::uint32_t kernel, double seconds) {
    if (seconds_[kernel].size() < kMostSamples) {
        seconds_[kernel].push_back(seconds);
    }
}

double OpTimes::median(std::uint32_t kernel) const {
    return orrery::median(seconds_[kernel]);
}

Profile OpTimes::profile(const std::string& device) const {
    Profile profile;
    for (std::uint32_t k = 0; k < seconds_.size(); ++k) {
        std::vector<double> sorted = seconds_[k];
        std::sort(sorted.begin(), sorted.end());
        const double middle = quantile(sorted, 0.5);
        if (middle <= 0) {
            continue;
        }
        profile.push_back({.device = device,
                           .call = program_.kernels[k],
                           .median = Time::seconds(middle),
                           .spread = quartile_spread(sorted, middle),
                           .samples = static_cast<std::int64_t>(seconds_[k].size())});
    }
    return profile;
}

}  // namespace orrery
