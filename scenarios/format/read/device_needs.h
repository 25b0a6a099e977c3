// SPDX-License-Identifier: Apache-2.0
// What a plan asks of the cluster's devices, and of the memory and drives of their servers.
#pragma once

#include "scenarios/format/document/document_node.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// `root`: the map that has the plan, for the places of the errors, which are appended.
void check_device_needs(const DocumentNode& root, const Scenario& scenario, Errors& errors);

}  // namespace orrery
