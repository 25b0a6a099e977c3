// SPDX-License-Identifier: Apache-2.0
// The changes of instances in the order of time, from the events of ServingFaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/serving/instance_faults.h"

namespace orrery {

struct InstanceChange {
    enum class Kind : std::uint8_t { stop, notice, restart, pace };
    Time at;
    std::size_t instance = 0;
    Kind kind = Kind::stop;
    std::size_t outage = 0;  // index of the outage, except for Kind::pace
    double factor = 1;       // for Kind::pace: factor on step times from now on

    bool operator==(const InstanceChange&) const = default;
};

// Ascending in time. At one instant, changes are in the order of the outages, so that an instance
// stops before it restarts.
std::vector<InstanceChange> instance_timeline(const ServingFaults& faults);

}  // namespace orrery
