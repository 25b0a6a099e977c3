// SPDX-License-Identifier: Apache-2.0
// A fabric as a platform file of SimGrid (its DTD, version 4.1): a host per GPU, a link per
// direction of each cable with the simulated capacity and latency, and for each pair of GPUs the
// path of the flow with label 0.
#pragma once

#include <ostream>

#include "engine/base/result.h"
#include "network/fabric/fabric.h"

namespace orrery {

// Largest number of GPUs: the file has a route per pair.
inline constexpr std::uint32_t kSimgridHostsMax = 1024;

Result<void> write_simgrid_platform(std::ostream& out, const Fabric& fabric);

}  // namespace orrery
