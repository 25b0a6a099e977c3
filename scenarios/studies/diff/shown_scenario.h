// SPDX-License-Identifier: Apache-2.0
// A scenario as it is simulated, in one document: with overrides, with catalogue entries in place
// of their names, and with the defaults of missing keys.
#pragma once

#include "scenarios/format/document/document_node.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// The document of a scenario that a reader made. Reading the document gives the same scenario.
// Defaults have the remark kDefaultRemark.
inline constexpr const char* kDefaultRemark = "default";
DocumentNode shown_scenario(const Scenario& scenario);

}  // namespace orrery
