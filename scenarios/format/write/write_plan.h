// SPDX-License-Identifier: Apache-2.0
// A scenario as YAML text with another plan or other pools: the result of a search, which simulate,
// train and serve read.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/plan/plan.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// The document without its search section, with the plan's varied keys, and with the cluster's keys
// `cluster` ("nodes", "64"). Paths relative to `from`, the folder of the document, become relative
// to `to`.
std::string scenario_with_plan(DocumentNode document,
                               const ParallelPlan& plan,
                               const std::vector<std::pair<std::string, std::string>>& cluster,
                               const std::filesystem::path& from,
                               const std::filesystem::path& to);

// A served load with these pools, which keep the document's other keys.
std::string scenario_with_pools(DocumentNode document,
                                const std::vector<ServingPoolSpec>& pools,
                                const std::filesystem::path& from,
                                const std::filesystem::path& to);

}  // namespace orrery
