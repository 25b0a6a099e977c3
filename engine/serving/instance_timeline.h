// SPDX-License-Identifier: Apache-2.0
// What happens to instances, in the order of time: the events of ServingFaults.
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
    std::size_t outage = 0;  // its number, unless the pace changes
    double factor = 1;       // of step times from now on, where the pace changes

    bool operator==(const InstanceChange&) const = default;
};

// Ascending. Of one instant in the order of the outages: an instance stops before it starts again.
std::vector<InstanceChange> instance_timeline(const ServingFaults& faults);

}  // namespace orrery
