// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates of coupled flows, by progressive filling in integers (bit/s), recomputed from
// nothing for every set of flows. All flows are free at first; then, until none is: every link with
// free flows offers t_l = floor((C_l - load of the frozen flows) / sum of the free counts); t* is
// the smallest offer or cap of a free flow; all free flows that cross a link with t_l = t*, or
// whose cap is t*, freeze at t* together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/network_model.h"

namespace orrery::reference {

struct MaxMinFlow {
    std::span<const LinkShare> footprint{};
    Bandwidth rate_max{};  // zero: no cap
};

// By flow, in bit/s.
std::vector<std::int64_t> max_min_rates(std::span<const LinkInfo> links,
                                        std::span<const MaxMinFlow> flows);

// Without contention: what the flow gets when it is alone.
std::int64_t lone_rate(std::span<const LinkInfo> links, const MaxMinFlow& flow);

}  // namespace orrery::reference
