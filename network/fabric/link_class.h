// SPDX-License-Identifier: Apache-2.0
// The classes of links in reports; both directions of a link have the same class. The values are
// those of LinkInfo::link_class in every fabric.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/base/units.h"

namespace orrery {

enum class LinkClass : std::uint16_t {
    nvlink,
    pcie,
    socket,
    nic,
    leaf_uplink,
    core_uplink,
    ethernet,  // only if a cluster has one beside its fabric
    c2c,       // this and the following: between memory tiers (network/fabric/memory_tiers.h)
    memory,
    nvme,
};
inline constexpr std::size_t kNumLinkClasses = 10;

// Usable bandwidth of a line, rounded down to whole bits a second.
inline Bandwidth usable(Bandwidth raw, double efficiency) {
    if (efficiency == 1.0) {
        return raw;
    }
    const double rate = static_cast<double>(raw.bits_per_second()) * efficiency;
    return Bandwidth::bits_per_second(static_cast<std::int64_t>(std::floor(rate)));
}

}  // namespace orrery
