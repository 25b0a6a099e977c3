// SPDX-License-Identifier: Apache-2.0
// network.events on the links of a fabric.
#pragma once

#include <vector>

#include "engine/base/result.h"
#include "network/fabric/fabric.h"
#include "network/fluid/flow_runner.h"
#include "scenarios/format/specs/network_settings.h"

namespace orrery {

// A cable's event changes both its directions. The error is the first link that the fabric lacks.
Result<std::vector<LinkChange>> link_changes(const Fabric& fabric,
                                             const std::vector<LinkEvent>& events);

}  // namespace orrery
