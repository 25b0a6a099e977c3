// SPDX-License-Identifier: Apache-2.0
// The console report of a campaign, at most 100 columns wide.
#pragma once

#include <string>

#include "scenarios/studies/campaign/campaign_answer.h"

namespace orrery {

std::string campaign_report(const CampaignAnswer& answer);

}  // namespace orrery
