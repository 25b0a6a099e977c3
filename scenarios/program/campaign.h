// SPDX-License-Identifier: Apache-2.0
// `orrery campaign FILE`: weeks of a scenario's job with its faults and recovery plans.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct CampaignArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::string replayed_events;  // event log of a supervised run; empty: none
    std::uint32_t jobs = 0;       // seeds that run at the same time; 0: one a core
};

// Returns the exit status.
int campaign_command(const CampaignArguments& arguments);

// For a served load or a training, depending on the kind of the file. Returns the exit status.
int any_campaign_command(const CampaignArguments& arguments);

}  // namespace orrery
