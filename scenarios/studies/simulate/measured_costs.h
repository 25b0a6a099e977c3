// SPDX-License-Identifier: Apache-2.0
// What a profile says about one device while a number of ranks of a node are at work: the rows that
// were measured with that many, or else with the next larger number, or else with the largest.
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
    // Of the host and a whole step: fixed, and by the byte that a step clears.
    std::optional<Time> per_step;
    double per_cleared_byte = 0;  // seconds

    std::optional<Time> host_step(Bytes cleared) const;
};

MeasuredCosts measured_costs(const MachineProfile& profile,
                             const std::string& device,
                             std::uint32_t ranks);

}  // namespace orrery
