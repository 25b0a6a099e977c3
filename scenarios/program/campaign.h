// SPDX-License-Identifier: Apache-2.0
// `orrery campaign FILE`: weeks of a scenario's job with its faults and recovery plans.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct CampaignArguments {
    std::string file;
    std::vector<std::string> overrides;
    bool json = false;
    std::string html_file;
    std::string trace_file;
    std::string replayed_events;  // of a supervised run; empty: none
    std::uint32_t threads = 0;    // 0: one a core
};

// Returns the exit status.
int campaign_command(const CampaignArguments& arguments);

Command describe_campaign();

}  // namespace orrery
