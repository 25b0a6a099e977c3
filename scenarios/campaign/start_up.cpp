// SPDX-License-Identifier: Apache-2.0
#include "scenarios/campaign/start_up.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery {
namespace {

struct Published {
    double gpus;
    double all_s;
    double communicators_s;
};
constexpr std::array kPublished = {Published{16384, 200, 17},
                                   Published{22528, 300, 30},
                                   Published{65536, 600, 100},
                                   Published{98304, 900, 200}};

// Linear between the points and beyond the last, constant before the first.
WallTime interpolated(std::int64_t gpus, double Published::*value) {
    const auto n = std::max(static_cast<double>(gpus), kPublished.front().gpus);
    std::size_t i = 1;
    while (i + 1 < kPublished.size() && n > kPublished[i].gpus) {
        ++i;
    }
    const Published& a = kPublished[i - 1];
    const Published& b = kPublished[i];
    const double share = (n - a.gpus) / (b.gpus - a.gpus);
    return WallTime::seconds(a.*value + share * (b.*value - a.*value));
}

}  // namespace

WallTime cold_start(std::int64_t gpus) {
    return interpolated(gpus, &Published::all_s);
}

WallTime communicator_creation(std::int64_t gpus) {
    return interpolated(gpus, &Published::communicators_s);
}

WallTime checkpoint_agreement(std::int64_t gpus) {
    constexpr double kSeconds = 0.34;
    constexpr double kGpus = 1488;
    const double levels = std::log2(std::max(1.0, static_cast<double>(gpus)));
    return WallTime::seconds(kSeconds * levels / std::log2(kGpus));
}

}  // namespace orrery
