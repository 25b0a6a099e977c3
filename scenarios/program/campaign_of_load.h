// SPDX-License-Identifier: Apache-2.0
// `orrery campaign` of a file of kind serving.
#pragma once

#include "scenarios/program/campaign.h"

namespace orrery {

// Of a served load or of a training. Returns the exit status.
int any_campaign_command(const CampaignArguments& arguments);

}  // namespace orrery
