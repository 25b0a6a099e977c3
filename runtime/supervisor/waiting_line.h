// SPDX-License-Identifier: Apache-2.0
// The line of a supervisor that has no node for a slot and waits for a repair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/recovery/messages.h"

namespace orrery {

struct NodeInRepair {
    NodeNumber node = 0;
    double seconds_left = 0;  // not positive: the repair is over, and its process starts
    bool operator==(const NodeInRepair&) const = default;
};

// "no spare is left for slot 0; node 3 is expected back in 24.0 h (campaign.repair.time); …"
std::string waiting_line(const std::vector<std::uint32_t>& slots,
                         const std::vector<NodeInRepair>& repairs);

}  // namespace orrery
