// SPDX-License-Identifier: Apache-2.0
// Applies network.events to the links of a fabric.
#pragma once

#include <vector>

#include "engine/base/result.h"
#include "network/fabric/fabric.h"
#include "network/fluid/flow_runner.h"
#include "scenarios/format/specs/network_settings.h"

namespace orrery {

// An event of a cable changes both directions. The error names the first link that the fabric does
// not have.
Result<std::vector<LinkChange>> link_changes(const Fabric& fabric,
                                             const std::vector<LinkEvent>& events);

}  // namespace orrery
