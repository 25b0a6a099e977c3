// SPDX-License-Identifier: Apache-2.0
// Checks of a plan's requirements on the cluster's devices, and on the memory and drives of their
// servers.
#pragma once

#include "scenarios/format/document/document_node.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// `root` is the map with the plan, for the places of errors, which are appended.
void check_device_needs(const DocumentNode& root, const Scenario& scenario, Errors& errors);

}  // namespace orrery
