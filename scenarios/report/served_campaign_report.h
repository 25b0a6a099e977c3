// SPDX-License-Identifier: Apache-2.0
// What `orrery campaign` shows of a served load: what faults take from it.
#pragma once

#include <string>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/report.h"
#include "scenarios/studies/serve/served_campaign.h"

namespace orrery {

Report served_campaign_sections(const Scenario& scenario, const ServedCampaign& campaign);
// docs/schema/campaign_serving.schema.json
std::string served_campaign_json(const Scenario& scenario, const ServedCampaign& campaign);

}  // namespace orrery
