// SPDX-License-Identifier: Apache-2.0
// The result of a search among pools: a table of the best ones with their latencies, or all of it
// as one JSON object.
#pragma once

#include <string>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/report.h"
#include "scenarios/studies/serve/search_pools.h"

namespace orrery {

Report pool_search_sections(const Scenario& scenario, const PoolSearchResult& result);
// Seconds, tokens and GPUs; docs/schema/search_pools.schema.json.
std::string pool_search_json(const Scenario& scenario, const PoolSearchResult& result);

}  // namespace orrery
