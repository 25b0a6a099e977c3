// SPDX-License-Identifier: Apache-2.0
// In which order ranks take the nodes, and what that gains.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/report.h"
#include "scenarios/studies/search/place_nodes.h"

namespace orrery {

// "[2,0,1]", as cluster.node_order reads it.
std::string order_text(std::span<const std::uint32_t> order);

Report placed_sections(const Scenario& scenario, const PlacedNodes& placed);
// docs/schema/search_place.schema.json.
std::string placed_json(const Scenario& scenario, const PlacedNodes& placed);

}  // namespace orrery
