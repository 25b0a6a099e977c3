// SPDX-License-Identifier: Apache-2.0
// The rate of a transfer without other transfers: the least floor(capacity / count) of its links,
// and at most its own cap. A plan whose parts do not slow each other down takes the latency and the
// time of the longest part in each phase.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/base/units.h"
#include "engine/program/network_model.h"

namespace orrery {

// The share of the tightest link in bit/s; INT64_MAX if the footprint is empty. capacity_of(LinkId)
// is in bit/s.
template <class CapacityOf>
std::int64_t narrowest_share(std::span<const LinkShare> footprint, CapacityOf capacity_of) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const LinkShare& share : footprint) {
        least = std::min<std::int64_t>(least, capacity_of(share.link) / share.count);
    }
    return least;
}

// `rate_max` zero: the transfer has no cap. The result is zero if a link is down.
inline Bandwidth rate_alone(std::span<const LinkShare> footprint,
                            Bandwidth rate_max,
                            std::span<const LinkInfo> links) {
    const Bandwidth narrowest = Bandwidth::bits_per_second(narrowest_share(
        footprint, [&](LinkId link) { return links[index(link)].capacity.bits_per_second(); }));
    return rate_max == Bandwidth{} ? narrowest : std::min(narrowest, rate_max);
}

// Time::max() if a part with bytes to move has no bandwidth.
Time time_without_contention(const TransferPlan& plan, std::span<const LinkInfo> links);

}  // namespace orrery
