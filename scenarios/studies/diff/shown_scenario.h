// SPDX-License-Identifier: Apache-2.0
// A scenario as it is simulated, in one document: overrides applied, entries of the catalogue in
// the place of their names, and the defaults of keys that it does not give.
#pragma once

#include "scenarios/format/document/document_node.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// Of a scenario that a reader made. Read again it is the same scenario. A default is marked by its
// remark, kDefaultRemark.
inline constexpr const char* kDefaultRemark = "default";
DocumentNode shown_scenario(const Scenario& scenario);

}  // namespace orrery
