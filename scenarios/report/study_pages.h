// SPDX-License-Identifier: Apache-2.0
// The HTML pages of search, sweep, campaign, network and compare (report/study_page.h).
#pragma once

#include <string>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/campaign/campaign_answer.h"
#include "scenarios/studies/measure/run_comparison.h"
#include "scenarios/studies/network/network_answer.h"
#include "scenarios/studies/search/search.h"
#include "scenarios/studies/search/sensitivity.h"
#include "scenarios/studies/sweep/sweep.h"

namespace orrery {

std::string search_page(const Scenario& scenario,
                        const SearchResult& result,
                        const std::vector<SensitiveFigure>& figures);
std::string sweep_page(const std::string& name, const SweepOutcome& outcome);
std::string campaign_page(const CampaignAnswer& answer);
std::string network_page(const NetworkAnswer& answer);
std::string comparison_page(const RunComparison& comparison);

}  // namespace orrery
