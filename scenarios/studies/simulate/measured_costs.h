// SPDX-License-Identifier: Apache-2.0
// A profile's times for one device and a number of active ranks on a node: the rows with that
// number, or else with the next larger number, or else with the largest number.
#pragma once

#include <optional>
#include <vector>

#include "engine/base/units.h"
#include "engine/world/measured_transfer.h"
#include "kernels/profile.h"

namespace orrery {

struct MeasuredCosts {
    Profile kernels;
    std::vector<MeasuredTransfer> transfers;
    std::optional<Time> per_op;  // of the host
    // Host time of a whole step: a constant, and a part for each byte that a step clears.
    std::optional<Time> per_step;
    double per_cleared_byte = 0;  // seconds

    std::optional<Time> host_step(Bytes cleared) const;
};

MeasuredCosts measured_costs(const MachineProfile& profile,
                             const std::string& device,
                             std::uint32_t ranks);

}  // namespace orrery
