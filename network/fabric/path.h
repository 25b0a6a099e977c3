// SPDX-License-Identifier: Apache-2.0
// A path through the fabric: its links in order and the sum of their latencies. Reuse one Path for
// many routes: clear() keeps the memory, so that routing does not allocate.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"

namespace orrery {

struct Path {
    std::vector<LinkId> links;
    Time latency;

    void add(LinkId link, Time link_latency) {
        links.push_back(link);
        latency += link_latency;
    }
    void clear() {
        links.clear();
        latency = Time{};
    }
    bool operator==(const Path&) const = default;
};

// The number of the adapter through which a node reaches all others over TCP
// (ClusterSpec::ethernet).
inline constexpr std::uint32_t kEthernetNic = UINT32_MAX;

// A NIC of a node.
struct NicPort {
    std::uint32_t node = 0;
    std::uint32_t nic = 0;
    bool is_ethernet() const { return nic == kEthernetNic; }
    bool operator==(const NicPort&) const = default;
};

}  // namespace orrery
