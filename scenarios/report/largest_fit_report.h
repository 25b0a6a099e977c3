// SPDX-License-Identifier: Apache-2.0
// How much of a model or a sequence fits, and what takes the memory.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/report.h"
#include "scenarios/studies/search/largest_fit.h"
#include "scenarios/studies/search/layer_plan.h"

namespace orrery {

Report fit_sections(const Scenario& scenario, FitOf what, const LargestFit& fit);
// Bytes; docs/schema/search_fit.schema.json.
std::string fit_json(const Scenario& scenario, FitOf what, const LargestFit& fit);

// By where state lies.
Report tier_sections(const Scenario& scenario, const std::vector<TierFit>& fits);
std::string tier_json(const Scenario& scenario, const std::vector<TierFit>& fits);

// The fewest layers that run again.
Report layer_plan_sections(const Scenario& scenario, const LayerPlan& plan);
std::string layer_plan_json(const Scenario& scenario, const LayerPlan& plan);

}  // namespace orrery
