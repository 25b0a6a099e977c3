// SPDX-License-Identifier: Apache-2.0
// Writes the first seed's run of every plan of a campaign for Perfetto (ui.perfetto.dev): a track
// with what the job does, one with what was observed, and the ETTR by day as a counter.
#pragma once

#include <ostream>
#include <string>

#include "engine/result.h"
#include "scenarios/studies/campaign/campaign_answer.h"

namespace orrery {

void write_campaign_trace(std::ostream& out, const CampaignAnswer& answer);
// To a file that appears whole or not at all.
Result<void> write_campaign_trace(const std::string& file, const CampaignAnswer& answer);

}  // namespace orrery
