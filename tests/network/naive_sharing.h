// SPDX-License-Identifier: Apache-2.0
// The sharing rule of network/fluid/fluid.h, executed literally and from scratch: slow, and
// obviously the rule. Shares no code with the solver.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/program/network_model.h"

namespace orrery::testing {

struct NaiveFlow {
    std::vector<LinkShare> footprint;
    std::int64_t rate_max = 0;  // 0: no cap
};

inline std::vector<std::int64_t> naive_rates(const std::vector<std::int64_t>& capacities,
                                             const std::vector<NaiveFlow>& flows) {
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> rates(flows.size(), -1);  // -1: free
    while (true) {
        std::vector<std::int64_t> left = capacities;
        std::vector<std::int64_t> free_count(capacities.size());
        std::int64_t level = kNone;
        for (std::size_t f = 0; f < flows.size(); ++f) {
            for (const LinkShare& share : flows[f].footprint) {
                if (rates[f] < 0) {
                    free_count[index(share.link)] += share.count;
                } else {
                    left[index(share.link)] -= share.count * rates[f];
                }
            }
            if (rates[f] < 0 && flows[f].rate_max > 0) {
                level = std::min(level, flows[f].rate_max);
            }
        }
        std::vector<std::int64_t> shares(capacities.size(), kNone);
        for (std::size_t l = 0; l < capacities.size(); ++l) {
            if (free_count[l] > 0) {
                shares[l] = left[l] < 0 ? 0 : left[l] / free_count[l];
                level = std::min(level, shares[l]);
            }
        }
        if (level == kNone) {
            return rates;
        }
        for (std::size_t f = 0; f < flows.size(); ++f) {
            bool stops = flows[f].rate_max > 0 && flows[f].rate_max == level;
            for (const LinkShare& share : flows[f].footprint) {
                stops = stops || shares[index(share.link)] == level;
            }
            if (rates[f] < 0 && stops) {
                rates[f] = level;
            }
        }
    }
}

}  // namespace orrery::testing
