// SPDX-License-Identifier: Apache-2.0
// Which nodes of a chain hold how many layers, and what a token takes at each.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "scenarios/report/report.h"
#include "scenarios/studies/serve/layer_chain.h"

namespace orrery {

ReportSection chain_section(const std::vector<ChainNodeUse>& nodes);
nlohmann::ordered_json chain_json(const std::vector<ChainNodeUse>& nodes);

}  // namespace orrery
