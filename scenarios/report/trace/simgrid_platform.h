// SPDX-License-Identifier: Apache-2.0
// A fabric as a platform file of SimGrid (its DTD, version 4.1): a host for each GPU, a link for
// each direction of each cable with the capacity and latency that we simulate with, and for each
// pair of GPUs the path that the flow of label 0 takes.
#pragma once

#include <ostream>

#include "engine/base/result.h"
#include "network/fabric/fabric.h"

namespace orrery {

// One route a pair: this many GPUs at most.
inline constexpr std::uint32_t kSimgridHostsMax = 1024;

Result<void> write_simgrid_platform(std::ostream& out, const Fabric& fabric);

}  // namespace orrery
