// SPDX-License-Identifier: Apache-2.0
// The reports of studies (report/report.h): what their pages, tables and Markdown show.
#pragma once

#include <string>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/report.h"
#include "scenarios/studies/campaign/campaign_answer.h"
#include "scenarios/studies/explain/explain.h"
#include "scenarios/studies/measure/run_comparison.h"
#include "scenarios/studies/network/network_answer.h"
#include "scenarios/studies/search/search.h"
#include "scenarios/studies/search/sensitivity.h"
#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/sweep/sweep.h"

namespace orrery {

Report search_sections(const Scenario& scenario,
                       const SearchResult& result,
                       const std::vector<SensitiveFigure>& figures);
Report sweep_sections(const std::string& name, const SweepOutcome& outcome);
Report campaign_sections(const CampaignAnswer& answer);
Report network_sections(const NetworkAnswer& answer);
Report comparison_sections(const RunComparison& comparison);
Report step_sections(const Answer& answer);
Report explain_sections(const Explanation& explanation);

}  // namespace orrery
